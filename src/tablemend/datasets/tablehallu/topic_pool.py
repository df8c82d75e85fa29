"""The built-in topics: 4 categories, 12 domains, 24 sub-categories (TableHallu, A.1.1).

Category and domain names follow the paper as far as it prints them; the rest of the names, all
templates and all schemas are ours. Nothing that is made from them is a fact about the world.
"""

# ruff: noqa: E501 (a schema a block reads better than a field a line)

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Field:
    """How the cells of one column are made.

    Attributes:
        name: the header.
        kind: what is drawn: from ``low`` to ``high`` for years, days and numbers, from
            ``options`` for a choice, an invented name for the rest.
        low, high, decimals, unit: of a number; the unit is written behind it.
    """

    name: str
    kind: Literal["year", "day", "number", "choice", "person", "place", "firm"]
    low: float = 0
    high: float = 0
    decimals: int = 0
    unit: str = ""
    options: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SubCategory:
    """One kind of table.

    Attributes:
        templates: what the query calls the entities; ``{place}`` and ``{entity}`` are filled.
        key: header of the column that names the entities.
        names: pattern of an entity's name; ``{word}`` and ``{person}`` are filled.
        fields: the other columns.
        panel: the same entities return in several years.
    """

    category: str
    domain: str
    name: str
    templates: tuple[str, ...]
    key: str
    names: tuple[str, ...]
    fields: tuple[Field, ...]
    panel: bool = False


def _year(name: str, low: int, high: int) -> Field:
    return Field(name, "year", low, high)


def _day(name: str, low: int, high: int) -> Field:
    return Field(name, "day", low, high)


def _number(name: str, low: float, high: float, decimals: int = 0, unit: str = "") -> Field:
    return Field(name, "number", low, high, decimals, unit)


def _choice(name: str, options: str) -> Field:
    return Field(name, "choice", options=tuple(options.split("|")))


def _person(name: str) -> Field:
    return Field(name, "person")


def _place(name: str) -> Field:
    return Field(name, "place")


def _firm(name: str) -> Field:
    return Field(name, "firm")


TECHNOLOGY = "Technology & Business"
NATURE = "Nature & Health"
SOCIETY = "Society & Humanities"
LIFESTYLE = "Lifestyle & Culture"
COUNTRIES = "Norway|Kenya|Chile|Vietnam|Portugal|Canada|Morocco|Japan"
CONTINENTS = "Africa|Asia|Europe|North America|South America|Oceania"

SUB_CATEGORIES = (
    SubCategory(
        TECHNOLOGY, "Technology & Business", "Technological Innovation & Adoption",
        ("consumer device launches by {entity}", "devices presented at the {place} technology fair"),
        "Device", ("{word} X", "{word} Pro", "{word} Mini", "{word} One"),
        (
            _year("Launch Year", 2004, 2024), _number("Price (USD)", 90, 1900),
            _number("Units Sold (Million)", 0.2, 60, 1), _firm("Manufacturer"),
            _choice("Operating System", "Android|Linux|Proprietary|HarmonyOS"),
            _number("Battery (mAh)", 1200, 6800), _number("Screen Size (Inches)", 4, 14, 1),
        ),
    ),
    SubCategory(
        TECHNOLOGY, "Technology & Business", "Companies & Entrepreneurship",
        ("start-ups founded around {place}", "companies backed by {entity}"),
        "Company", ("{word} Labs", "{word} Systems", "{word} Works", "{word} Robotics"),
        (
            _year("Founded", 1995, 2023), _number("Employees", 12, 9800), _person("Chief Executive"),
            _choice("Sector", "Software|Biotech|Logistics|Energy|Media"), _place("Headquarters"),
            _number("Funding (USD Million)", 1, 640, 1), _number("Patents", 0, 180),
        ),
    ),
    SubCategory(
        TECHNOLOGY, "Finance & Economics", "Corporate Financial Performance",
        ("annual results of companies listed in {place}", "firms in the {entity} index"),
        "Company", ("{word} Holdings", "{word} Group", "{word} Industries"),
        (
            _year("Fiscal Year", 2012, 2024), _number("Revenue (USD Million)", 120, 9400, 1),
            _number("Net Income (USD Million)", 4, 900, 1), _number("Operating Margin", 2, 38, 1, "%"),
            _person("Chief Financial Officer"), _number("Dividend per Share", 0.1, 6, 2),
            _choice("Auditor", "Brandt & Cole|Meridian|Oakhurst|Sable Partners"),
        ),
        panel=True,
    ),
    SubCategory(
        TECHNOLOGY, "Finance & Economics", "Markets & Macroeconomic Indicators",
        ("regional economies of {place}", "economies covered by the {entity} survey"),
        "Region", ("{word}", "North {word}", "Upper {word}", "{word} Coast"),
        (
            _year("Year", 2008, 2024), _number("GDP Growth", 0.1, 9, 1, "%"),
            _number("Inflation Rate", 0.2, 14, 1, "%"), _number("Unemployment Rate", 1, 19, 1, "%"),
            _number("Exports (USD Billion)", 0.4, 210, 1), _person("Central Bank Governor"),
            _choice("Credit Rating", "AAA|AA|BBB|BB"),
        ),
        panel=True,
    ),
    SubCategory(
        TECHNOLOGY, "Transport & Energy", "Infrastructure & Mobility",
        ("railway lines of {place}", "lines operated by {entity}"),
        "Line", ("{word} Line", "{word} Railway", "{word} Express"),
        (
            _day("Opening Date", 1950, 2023), _number("Length (km)", 6, 780, 1),
            _number("Stations", 3, 64), _place("Terminus"), _number("Top Speed (km/h)", 60, 340),
            _choice("Gauge", "Standard|Narrow|Broad"), _firm("Operator"),
        ),
    ),
    SubCategory(
        TECHNOLOGY, "Transport & Energy", "Power Generation",
        ("power plants in {place}", "plants owned by {entity}"),
        "Plant", ("{word} Power Station", "{word} Energy Park", "{word} Dam"),
        (
            _year("Commissioned", 1962, 2023), _number("Capacity (MW)", 12, 3100),
            _choice("Source", "Hydro|Wind|Solar|Gas|Nuclear"), _firm("Owner"), _place("Municipality"),
            _number("Output (GWh)", 20, 9100, 1), _number("Staff", 4, 720),
        ),
    ),
    SubCategory(
        NATURE, "Environment & Agriculture", "Conservation & Climate",
        ("protected areas of {place}", "reserves run by the {entity} trust"),
        "Reserve", ("{word} National Park", "{word} Wetlands", "{word} Forest Reserve"),
        (
            _year("Established", 1921, 2022), _number("Area (km2)", 8, 12400, 1),
            _number("Annual Visitors", 900, 840000), _choice("Habitat", "Forest|Wetland|Tundra|Reef"),
            _person("Head Ranger"), _number("Highest Point (m)", 14, 4200),
            _number("Bird Species", 30, 520),
        ),
    ),
    SubCategory(
        NATURE, "Environment & Agriculture", "Farming & Fisheries",
        ("farm estates in {place}", "estates selling through {entity}"),
        "Estate", ("{word} Farm", "{word} Orchards", "{word} Estate"),
        (
            _year("Harvest Year", 2006, 2024), _number("Cultivated Area (ha)", 12, 3900),
            _number("Yield (t/ha)", 1, 14, 1), _choice("Main Crop", "Wheat|Barley|Maize|Soy|Rapeseed"),
            _person("Manager"), _number("Seasonal Workers", 2, 340), _place("Nearest Town"),
        ),
        panel=True,
    ),
    SubCategory(
        NATURE, "Health & Medicine", "Clinical Research",
        ("clinical trials led from {place}", "trials funded by {entity}"),
        "Trial", ("{word} Study", "{word} Trial"),
        (
            _day("Start Date", 2004, 2024), _number("Participants", 24, 8600),
            _choice("Phase", "Phase I|Phase II|Phase III"), _person("Principal Investigator"),
            _firm("Sponsor"), _number("Response Rate", 8, 92, 1, "%"), _number("Study Sites", 1, 74),
        ),
    ),
    SubCategory(
        NATURE, "Health & Medicine", "Hospitals & Public Health",
        ("hospitals in {place}", "hospitals in the {entity} network"),
        "Hospital", ("{word} General Hospital", "{word} Clinic", "St. {word} Hospital"),
        (
            _year("Report Year", 2010, 2024), _number("Beds", 40, 1900), _number("Surgeons", 3, 240),
            _number("Average Stay (Days)", 2, 12, 1), _choice("Ownership", "Public|Private|Charity"),
            _person("Director"), _number("Occupancy", 41, 99, 1, "%"),
        ),
        panel=True,
    ),
    SubCategory(
        NATURE, "Science & Space", "Space Missions",
        ("space missions launched from {place}", "missions of the {entity} agency"),
        "Mission", ("{word} I", "{word} Orbiter", "{word} Explorer", "{word} Probe"),
        (
            _day("Launch Date", 1969, 2024), _number("Mass (kg)", 90, 9100),
            _choice("Target", "Moon|Mars|Venus|Asteroid|Sun"), _person("Mission Director"),
            _number("Cost (USD Million)", 18, 3100), _number("Instruments", 2, 19),
            _firm("Prime Contractor"),
        ),
    ),
    SubCategory(
        NATURE, "Science & Space", "Research Discoveries",
        ("chemical compounds first made in {place}", "compounds described by the {entity} group"),
        "Compound", ("{word}ine", "{word}ol", "{word}ate"),
        (
            _year("Year of Discovery", 1890, 2022), _person("Discoverer"),
            _number("Molar Mass (g/mol)", 28, 890, 1), _number("Melting Point (C)", 12, 980),
            _choice("Class", "Alkaloid|Ester|Salt|Polymer"), _number("Citations", 3, 4100),
            _place("Laboratory"),
        ),
    ),
    SubCategory(
        SOCIETY, "History & Politics", "Elections & Governments",
        ("council elections in {place}", "candidates of the {entity} alliance"),
        "Candidate", ("{person}",),
        (
            _year("Election Year", 1948, 2023), _number("Votes", 900, 480000),
            _number("Vote Share", 1, 68, 1, "%"), _choice("Party", "Labour|Liberal|Centre|Green|Unity"),
            _place("Constituency"), _number("Age", 24, 81), _person("Campaign Manager"),
        ),
    ),
    SubCategory(
        SOCIETY, "History & Politics", "Historical Events & Treaties",
        ("treaties signed in {place}", "treaties of the house of {entity}"),
        "Treaty", ("Treaty of {word}", "Peace of {word}", "Accord of {word}"),
        (
            _year("Year Signed", 1640, 1919), _number("Signatories", 2, 24), _person("Chief Negotiator"),
            _choice("Subject", "Trade|Border|Alliance|Peace"), _place("Place of Signing"),
            _number("Articles", 4, 160), _number("Years in Force", 1, 96),
        ),
    ),
    SubCategory(
        SOCIETY, "Law", "Court Decisions",
        ("appeals heard by the court of {place}", "cases argued by {entity}"),
        "Case", ("{word} v. {word}", "In re {word}"),
        (
            _day("Decision Date", 1962, 2024), _person("Presiding Judge"),
            _choice("Area of Law", "Contract|Tax|Patent|Labour|Criminal"),
            _choice("Outcome", "Affirmed|Reversed|Remanded"), _number("Damages (USD)", 4000, 9800000),
            _number("Pages", 6, 240), _number("Citing Cases", 0, 410),
        ),
    ),
    SubCategory(
        SOCIETY, "Law", "Legislation & Regulation",
        ("acts passed by the parliament of {place}", "acts enforced by the {entity} office"),
        "Act", ("{word} Act", "{word} Protection Act", "{word} Reform Act"),
        (
            _year("Year Enacted", 1952, 2024), _person("Sponsor"), _number("Sections", 4, 210),
            _choice("Policy Field", "Housing|Privacy|Trade|Environment|Health"),
            _number("Votes in Favour", 51, 420), _number("Amendments", 0, 48), _firm("Enforcing Body"),
        ),
    ),
    SubCategory(
        SOCIETY, "Education & Social Affairs", "Universities & Schools",
        ("universities around {place}", "universities in the {entity} league"),
        "University", ("University of {word}", "{word} College", "{word} Institute"),
        (
            _year("Founded", 1810, 2015), _number("Students", 420, 61000), _person("Rector"),
            _choice("Type", "Public|Private|Church"), _number("Tuition (USD)", 400, 58000),
            _number("Faculties", 2, 21), _number("Acceptance Rate", 4, 91, 1, "%"),
        ),
    ),
    SubCategory(
        SOCIETY, "Education & Social Affairs", "Demographics & Welfare",
        ("districts of {place}", "districts served by {entity}"),
        "District", ("{word}", "{word} Hills", "East {word}", "{word} Harbour"),
        (
            _year("Census Year", 1991, 2023), _number("Population", 1800, 940000),
            _number("Median Income (USD)", 8000, 91000), _number("Literacy Rate", 61, 99, 1, "%"),
            _person("Mayor"), _choice("Settlement", "Urban|Rural|Suburban"), _number("Schools", 1, 140),
        ),
        panel=True,
    ),
    SubCategory(
        LIFESTYLE, "Sports & Leisure", "Competitions & Athletes",
        ("athletes at the {place} games", "athletes sponsored by {entity}"),
        "Athlete", ("{person}",),
        (
            _year("Season", 1984, 2024), _number("Points", 12, 980), _number("Wins", 0, 31),
            _choice("Country", COUNTRIES), _person("Coach"), _number("Prize Money (USD)", 900, 2400000),
            _number("Best Time (s)", 9, 240, 2),
        ),
        panel=True,
    ),
    SubCategory(
        LIFESTYLE, "Sports & Leisure", "Clubs & Stadiums",
        ("football clubs of {place}", "clubs of the {entity} league"),
        "Club", ("{word} United", "{word} Rovers", "{word} FC", "{word} Athletic"),
        (
            _year("Founded", 1874, 2011), _number("Capacity", 1800, 91000), _number("Titles", 0, 28),
            _person("Manager"), _place("Home Town"), _choice("Colours", "Red|Blue|Green|White|Black"),
            _number("Members", 300, 140000),
        ),
    ),
    SubCategory(
        LIFESTYLE, "Arts & Entertainment", "Film & Television",
        ("films shown at the {place} festival", "films distributed by {entity}"),
        "Film", ("The {word} Affair", "{word} Nights", "Letters to {word}", "{word} Rising"),
        (
            _day("Release Date", 1978, 2024), _person("Director"), _number("Running Time (min)", 71, 204),
            _choice("Genre", "Drama|Comedy|Thriller|Documentary"), _number("Budget (USD Million)", 0.4, 180, 1),
            _number("Box Office (USD Million)", 0.2, 890, 1), _number("Awards", 0, 17),
        ),
    ),
    SubCategory(
        LIFESTYLE, "Arts & Entertainment", "Music & Literature",
        ("albums recorded in {place}", "albums released by {entity}"),
        "Album", ("{word} Sessions", "Songs for {word}", "{word} Tapes", "Live in {word}"),
        (
            _year("Year", 1967, 2024), _person("Artist"), _number("Tracks", 6, 22),
            _choice("Genre", "Jazz|Folk|Rock|Electronic|Classical"), _number("Copies Sold", 800, 3900000),
            _number("Peak Position", 1, 99), _firm("Label"),
        ),
    ),
    SubCategory(
        LIFESTYLE, "Travel & Food", "Destinations & Heritage",
        ("museums in {place}", "museums in the {entity} pass"),
        "Museum", ("{word} Museum", "{word} Gallery", "{word} House"),
        (
            _year("Opened", 1838, 2021), _number("Annual Visitors", 2400, 2900000), _person("Curator"),
            _choice("Theme", "Art|Science|History|Maritime"), _number("Admission (USD)", 2, 38, 2),
            _number("Objects", 300, 910000), _choice("Continent", CONTINENTS),
        ),
    ),
    SubCategory(
        LIFESTYLE, "Travel & Food", "Restaurants & Products",
        ("restaurants reviewed in {place}", "restaurants listed by {entity}"),
        "Restaurant", ("Chez {word}", "{word} Kitchen", "The {word} Table", "{word} Bistro"),
        (
            _year("Guide Year", 2001, 2024), _number("Score", 41, 99), _person("Chef"),
            _choice("Cuisine", "French|Thai|Mexican|Lebanese|Nordic"), _number("Menu Price (USD)", 18, 390),
            _number("Seats", 12, 180), _place("Neighbourhood"),
        ),
        panel=True,
    ),
)  # fmt: skip
