"""What a language model is asked to write about: templates and the lists that fill them.

Categories, domains and sub-categories are those of ``tablehallu.topics``. Its
tables are invented; a model is to write facts, so the lists here name real countries, cities,
companies, sports and the like. Templates and lists are ours.
"""

from __future__ import annotations


def _split(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.replace("\n", " ").split("|"))


def _spans(first: int) -> tuple[str, ...]:
    return tuple(
        f"from {start} to {start + length}"
        for start in range(first, 2020, 5)
        for length in (4, 9, 14)
        if start + length < 2024
    )


YEARS = ("span", "recent")
"""The slots of years: topics that differ in them alone are not counted as different."""

LISTS: dict[str, tuple[str, ...]] = {
    "span": _spans(1960),
    "recent": _spans(1995),
    "country": _split(
        """Argentina|Australia|Austria|Bangladesh|Belgium|Bolivia|Brazil|Bulgaria|Canada|Chile|
        China|Colombia|Costa Rica|Croatia|the Czech Republic|Denmark|Ecuador|Egypt|Estonia|
        Ethiopia|Finland|France|Germany|Ghana|Greece|Hungary|Iceland|India|Indonesia|Ireland|
        Israel|Italy|Japan|Kazakhstan|Kenya|Latvia|Lithuania|Malaysia|Mexico|Morocco|Nepal|
        the Netherlands|New Zealand|Nigeria|Norway|Pakistan|Peru|the Philippines|Poland|Portugal|
        Romania|Saudi Arabia|Serbia|Singapore|Slovakia|Slovenia|South Africa|South Korea|Spain|
        Sri Lanka|Sweden|Switzerland|Tanzania|Thailand|Tunisia|Turkey|Ukraine|
        the United Arab Emirates|the United Kingdom|the United States|Uruguay|Vietnam"""
    ),
    "region": _split(
        """the Alpine countries|the Andes|the Arabian Peninsula|the Balkans|the Baltic states|
        the Caribbean|Central America|Central Asia|Central Europe|East Africa|East Asia|
        Eastern Europe|the Himalayas|the Mediterranean|the Middle East|North Africa|
        North America|the Nordic countries|Oceania|Scandinavia|South America|South Asia|
        Southeast Asia|Southern Africa|West Africa|Western Europe"""
    ),
    "city": _split(
        """Amsterdam|Athens|Bangkok|Barcelona|Beijing|Berlin|Bogota|Boston|Brussels|Budapest|
        Buenos Aires|Cairo|Cape Town|Chicago|Copenhagen|Dublin|Edinburgh|Florence|Geneva|Hamburg|
        Helsinki|Hong Kong|Istanbul|Jakarta|Johannesburg|Kyoto|Lagos|Lima|Lisbon|London|
        Los Angeles|Madrid|Melbourne|Mexico City|Milan|Montreal|Mumbai|Munich|Nairobi|New Delhi|
        New York|Osaka|Oslo|Paris|Prague|Rio de Janeiro|Rome|San Francisco|Santiago|Sao Paulo|
        Seoul|Shanghai|Stockholm|Sydney|Taipei|Tokyo|Toronto|Vancouver|Vienna|Warsaw|Zurich"""
    ),
    "device": _split(
        """smartphone|tablet|laptop|smartwatch|digital camera|games console|e-book reader|
        graphics card|desktop processor|home printer|wireless headphone|consumer drone|
        smart speaker|electric scooter|personal computer|portable music player"""
    ),
    "maker": _split(
        """Apple|Samsung|Nokia|Sony|Huawei|Xiaomi|LG|Motorola|HTC|BlackBerry|Lenovo|Asus|Dell|HP|
        Canon|Nikon|Nintendo|Microsoft|Google|Intel|AMD|Nvidia|Garmin|Philips|Panasonic"""
    ),
    "sector": _split(
        """airline|automobile|bank|biotechnology|brewing|cement|chemical|clothing|construction|
        cosmetics|electronics|food|furniture|hotel|insurance|internet|logistics|mining|oil and gas|
        paper|pharmaceutical|publishing|railway|retail|semiconductor|shipbuilding|software|steel|
        telecommunication|video game"""
    ),
    "goods": _split(
        """coffee|copper|cotton|crude oil|electric cars|fertiliser|gold|iron ore|machinery|
        natural gas|palm oil|rice|semiconductors|steel|sugar|tea|textiles|timber|wheat|wine"""
    ),
    "power": _split("hydroelectric|nuclear|onshore wind|offshore wind|solar|geothermal|gas|coal"),
    "animal": _split(
        """amphibian|bat|bear|big cat|bird of prey|deer|dolphin and whale|freshwater fish|
        parrot|primate|sea turtle|seal|shark|snake|wild dog"""
    ),
    "crop": _split(
        """apples|avocados|bananas|barley|cassava|cocoa|coffee|cotton|grapes|lentils|maize|
        mangoes|olives|oranges|potatoes|rapeseed|rice|rubber|sorghum|soybeans|sugar cane|
        sunflower seed|tea|tomatoes|wheat"""
    ),
    "disease": _split(
        """Alzheimer's disease|asthma|breast cancer|chronic kidney disease|cystic fibrosis|
        depression|epilepsy|heart failure|hepatitis C|HIV infection|hypertension|leukaemia|
        lung cancer|melanoma|migraine|multiple sclerosis|obesity|osteoporosis|Parkinson's disease|
        psoriasis|rheumatoid arthritis|schizophrenia|stroke|type 1 diabetes|type 2 diabetes"""
    ),
    "infection": _split(
        """chickenpox|cholera|COVID-19|dengue fever|diphtheria|Ebola|hepatitis B|influenza|malaria|
        measles|meningitis|MERS|mpox|pneumococcal disease|polio|rabies|rotavirus|rubella|
        tuberculosis|typhoid fever|whooping cough|yellow fever|Zika"""
    ),
    "agency": _split(
        """NASA|the European Space Agency|JAXA|ISRO|Roscosmos|the China National Space
        Administration|SpaceX|the Soviet space programme|CNES|Rocket Lab|
        the Canadian Space Agency"""
    ),
    "target": _split(
        """the Moon|Mars|Venus|Mercury|Jupiter|Saturn|asteroids|comets|the Sun|low Earth orbit|
        the outer planets"""
    ),
    "space_nation": _split(
        """Canada|China|France|Germany|India|Italy|Japan|Russia|the Soviet Union|
        the United Kingdom|the United States"""
    ),
    "science": _split(
        """astronomy|botany|chemistry|computer science|genetics|geology|mathematics|medicine|
        microbiology|neuroscience|nuclear physics|oceanography|palaeontology|particle physics|
        psychology|zoology"""
    ),
    "prize": _split(
        """the Nobel Prize in Physics|the Nobel Prize in Chemistry|the Nobel Prize in Medicine|
        the Fields Medal|the Turing Award|the Abel Prize|the Wolf Prize|the Lasker Award|
        the Crafoord Prize|the Shaw Prize|the Breakthrough Prize"""
    ),
    "century": _split("15th|16th|17th|18th|19th|20th"),
    "dynasty": _split(
        """the Habsburgs|the Ottoman Empire|the Mughal Empire|the Ming dynasty|the Qing dynasty|
        the Tang dynasty|the Tudors|the Stuarts|the Bourbons of France|the Romanovs|
        the Byzantine Empire|the Roman Empire|the Joseon dynasty|the Safavids|the Medici of
        Florence|the House of Savoy|the Jagiellonians|the Inca Empire|the Mamluk Sultanate|
        the Solomonic dynasty|the House of Orange|the Chakri dynasty"""
    ),
    "court": _split(
        """the Supreme Court of the United States|the European Court of Human Rights|
        the Court of Justice of the European Union|the International Court of Justice|
        the Supreme Court of Canada|the Supreme Court of India|the High Court of Australia|
        the Constitutional Court of South Africa|the Federal Constitutional Court of Germany|
        the Supreme Court of the United Kingdom|the International Criminal Court|
        the Inter-American Court of Human Rights|the Constitutional Council of France"""
    ),
    "law": _split(
        """antitrust|asylum|bankruptcy|civil rights|competition|consumer protection|contract|
        copyright|criminal|data protection|discrimination|environmental|family|freedom of speech|
        intellectual property|labour|patent|privacy|tax|trade"""
    ),
    "policy": _split(
        """air quality|banking supervision|biodiversity|broadcasting|chemicals|climate protection|
        copyright|drug control|education|food safety|gambling|gun ownership|housing|immigration|
        labour rights|nuclear safety|patents|pensions|public health|road safety|tobacco|
        waste management|water protection"""
    ),
    "sport": _split(
        """alpine skiing|archery|athletics|badminton|biathlon|boxing|canoeing|chess|cross-country
        skiing|curling|cycling|diving|equestrian sport|fencing|figure skating|golf|gymnastics|
        judo|rowing|sailing|shooting|ski jumping|snooker|speed skating|squash|swimming|
        table tennis|tennis|triathlon|weightlifting|wrestling"""
    ),
    "team_sport": _split(
        "football|basketball|baseball|cricket|field hockey|handball|ice hockey|rugby|volleyball"
    ),
    "genre": _split(
        """adventure|animated|biographical|comedy|crime|documentary|fantasy|historical|horror|
        martial arts|musical|mystery|romantic|science fiction|spy|superhero|thriller|war|western"""
    ),
    "music": _split(
        """ambient|blues|bossa nova|classical guitar|country|disco|electronic|flamenco|folk|funk|
        heavy metal|hip hop|indie rock|jazz|K-pop|new wave|opera|pop|progressive rock|punk|reggae|
        rock|salsa|soul|techno"""
    ),
    "landmark": _split(
        """castles|cathedrals|caves|gardens|islands|lakes|lighthouses|monasteries|mosques|
        mountains|palaces|temples|theatres|volcanoes|waterfalls|zoos"""
    ),
    "food": _split(
        """beers|breads|cheeses|chocolate makers|desserts|mineral waters|noodle dishes|pastries|
        sausages|soups|spirits|stews|street foods|teas|wine regions"""
    ),
}

TEMPLATES: dict[str, tuple[str, ...]] = {
    "Technological Innovation & Adoption": (
        "{device} models released {recent}",
        "devices and chips launched by {maker} {recent}",
        "internet, mobile phone and broadband use in {country} {recent}",
        "supercomputers and data centres in {region}",
    ),
    "Companies & Entrepreneurship": (
        "technology companies founded in {country}",
        "{sector} companies with their seat in {city}",
        "mergers and acquisitions in the {sector} industry {recent}",
    ),
    "Corporate Financial Performance": (
        "annual revenue, profit and staff of large {sector} companies {recent}",
        "companies listed on the stock exchange of {country}",
        "the largest {sector} companies of {region} by revenue",
    ),
    "Markets & Macroeconomic Indicators": (
        "growth, inflation and unemployment in {country} {span}",
        "world market for {goods} {span}",
        "exports and imports of {country} {span}",
    ),
    "Infrastructure & Mobility": (
        "metro and tram systems of {country}",
        "airports of {country} by passengers",
        "long bridges and tunnels in {country}",
        "seaports of {region} by cargo",
    ),
    "Power Generation": (
        "{power} power plants in {region}",
        "large power plants of {country}",
        "electricity generation of {country} by source {span}",
    ),
    "Conservation & Climate": (
        "national parks and reserves of {country}",
        "threatened {animal} species and their conservation status",
        "temperature and rainfall of cities in {country}",
        "rivers of {country}",
    ),
    "Farming & Fisheries": (
        "production of {crop} in {region} {span}",
        "farm produce of {country} by harvested area and yield",
        "fishing ports and catches of {country}",
    ),
    "Clinical Research": (
        "drugs approved for {disease} {recent}",
        "clinical trials of treatments for {disease}",
        "vaccines and medicines against {infection}",
        "pharmaceutical research centres in {country}",
    ),
    "Hospitals & Public Health": (
        "hospitals in {city}",
        "health indicators of {country} {span}",
        "outbreaks of {infection} {span}",
    ),
    "Space Missions": (
        "space missions of {agency} to {target}",
        "astronauts and spaceflights of {space_nation}",
        "launch vehicles operated by {agency}",
    ),
    "Research Discoveries": (
        "discoveries in {science} {span}",
        "laureates of {prize} {span}",
        "scientists from {country} who worked in {science}",
    ),
    "Elections & Governments": (
        "heads of government of {country} {span}",
        "parliamentary elections in {country} {span}",
        "political parties of {country}",
    ),
    "Historical Events & Treaties": (
        "rulers of {dynasty}",
        "treaties and alliances of {region} in the {century} century",
        "battles fought in the territory of {country}",
    ),
    "Court Decisions": (
        "decisions of {court} on {law} law",
        "trials and judgments that concerned {country} before international courts",
    ),
    "Legislation & Regulation": (
        "laws on {policy} passed in {country} {recent}",
        "international conventions on {policy}",
        "regulatory agencies of {country}",
    ),
    "Universities & Schools": (
        "universities of {country}",
        "universities, academies and colleges in {city}",
        "business and engineering schools of {region}",
        "school systems and literacy in {country} {span}",
    ),
    "Demographics & Welfare": (
        "population of the large cities of {country} {span}",
        "provinces, states or regions of {country}",
        "languages spoken in {region}",
        "life expectancy, birth rate and migration of {country} {span}",
    ),
    "Competitions & Athletes": (
        "world champions in {sport} {span}",
        "Olympic medallists in {sport} {span}",
        "{sport} athletes from {country}",
    ),
    "Clubs & Stadiums": (
        "{team_sport} clubs of {country} and their titles",
        "{team_sport} arenas and stadiums of {country}",
    ),
    "Film & Television": (
        "feature films from {country} released {span}",
        "{genre} films released {span}",
        "television series from {country}",
        "film festivals and their winners in {region} {span}",
    ),
    "Music & Literature": (
        "{music} albums released {span}",
        "novels by authors from {country}",
        "composers and musicians from {country}",
        "literary prizes of {region} and their winners {span}",
    ),
    "Destinations & Heritage": (
        "World Heritage sites in {country}",
        "museums and galleries in {city}",
        "{landmark} of {country}",
    ),
    "Restaurants & Products": (
        "{food} of {country}",
        "restaurants and chefs of {city}",
        "restaurant chains founded in {country}",
    ),
}
"""Sub-category -> what its tables can be about."""
