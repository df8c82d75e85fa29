"""Kernels as a language model writes them: invented things, varied prose, every value stated.

Written by hand for the tests. Values are shortened to names, spelled out, put in other date
forms, listed with "respectively", carried by pronouns and rounded to words where that is exact.
"""

from __future__ import annotations

from dataclasses import dataclass

from tablemend.datasets.tablehallu_llm.parsing import KernelDraft
from tablemend.records import Condition, Constraints, SortOrder
from tablemend.tables.table import Table


@dataclass(frozen=True)
class Case:
    """A kernel, its query and its constraints."""

    name: str
    draft: KernelDraft
    query: str
    constraints: Constraints


def case(
    name: str,
    table: str,
    sort: tuple[str, SortOrder],
    context: str,
    query: str,
    scope: tuple[str, ...],
    span: str | None,
    *conditions: Condition,
) -> Case:
    lines = [[cell.strip() for cell in line.split("|")] for line in table.strip().splitlines()]
    rows = [[None if cell == "-" else cell for cell in line] for line in lines[1:]]
    paragraphs = [" ".join(part.split()) for part in context.strip().split("\n\n")]
    draft = KernelDraft(Table.of(lines[0], rows, name), *sort, "\n\n".join(paragraphs))
    return Case(
        name,
        draft,
        " ".join(query.split()),
        Constraints(scope, span, *sort, conditions),
    )


CASES = (
    case(
        "Ferries of the Lunel Islands, 1995 to 2012",
        """Ferry | Launched | Length (m) | Home Port | Passengers
        Alba | 1995 | 62.5 | Corran | 450
        Sella | 1999 | 71 | Vey | -
        Queen Orla | 2004 | 88.4 | Corran | 900
        Borea | 2008 | - | Port Hale | 620
        Nimbra | 2012 | 104 | Vey | 1,150""",
        ("Launched", "ascending"),
        """The Lunel Islands are linked by five ferries. The oldest of them, the Alba, was launched
        in 1995; she is 62.5 metres long, carries up to 450 passengers and sails from Corran.
        Four years later, in 1999, the Sella followed. She measures 71 m and has her home port
        in Vey.

        Queen Orla entered the water in 2004. At 88.4 m she takes 900 passengers, and like the Alba
        she is based at Corran. The Borea, launched in 2008, operates out of Port Hale with room
        for 620 passengers. The newest ship is the Nimbra of 2012, which is 104 m long, calls Vey
        her home port and has a capacity of 1,150.""",
        """Please make a table of the ferries of the Lunel Islands that were launched from 1995 to
        2012. The columns should be, in order, "Ferry", "Launched", "Length (m)", "Home Port"
        and "Passengers". Sort the table by "Launched" in ascending order.""",
        ("ferries", "Lunel Islands"),
        "1995 to 2012",
        Condition("Launched", "1995", "2012"),
    ),
    case(
        "Founders of the Halden school of painting",
        """Painter | Born | Birthplace | Best-Known Work | Year of Death
        Ada Brevik | 12 March 1861 | Halden | The Red Quay | 1934
        Johan Sire | 1863-07-02 | Moss | Winter Bread | 1940
        Marta Lunde | 30 October 1866 | Halden | - | 1951
        Ole Tarn | 5 January 1870 | Rygge | Salt | -
        Inga Falk | 19 June 1872 | Moss | Two Sisters | 1949""",
        ("Born", "ascending"),
        """Five painters are counted among the founders of the Halden school. Ada Brevik was born
        on March 12, 1861, in Halden. Her best-known work is The Red Quay, and she died in 1934.
        Johan Sire, who came from Moss, was born on 2 July 1863; he painted "Winter Bread" and
        lived until 1940.

        Marta Lunde was born in Halden on October 30th, 1866, and died in 1951. Ole Tarn was born
        in Rygge on 5 January 1870. "Salt" is the painting for which he is remembered. The
        youngest, Inga Falk, was born in Moss on 19 June 1872; her masterpiece Two Sisters is still
        shown today. Falk died in 1949.""",
        """Based on the text, create a table of the founders of the Halden school of painting who
        were born between 1860 and 1875. Use the columns "Painter", "Born", "Birthplace",
        "Best-Known Work", and "Year of Death" in exactly this order, and sort the rows by
        "Born" in ascending order.""",
        ("founders of the Halden school of painting",),
        "1860 to 1875",
        Condition("Born", "1860-01-01", "1875-12-31"),
    ),
    case(
        "Economy of Daklis, 2015 to 2020",
        """Year | GDP Growth (%) | Inflation (%) | Unemployment (%) | Exports (USD billion)
        2015 | 2.1 | 1.4 | 7.9 | 41.2
        2016 | 1.8 | - | 7.5 | 40.7
        2017 | 2.6 | 2.0 | 6.8 | 44.9
        2018 | 2.4 | 2.3 | 6.1 | -
        2019 | 0.9 | 1.7 | 6.3 | 47.3
        2020 | -4.2 | 0.3 | 9.0 | 39.5""",
        ("Year", "ascending"),
        """In 2015 the economy of Daklis grew by 2.1 percent, with inflation of 1.4 percent and
        unemployment at 7.9 percent. Exports came to $41.2 billion. Growth slowed to 1.8% in
        2016, when unemployment stood at 7.5% and goods worth 40.7 billion dollars were
        exported. The year 2017 brought growth of 2.6%, inflation of 2.0%, unemployment of 6.8%
        and exports of 44.9 billion USD.

        In 2018, growth of 2.4% went along with inflation of 2.3%, while unemployment fell to 6.1%.
        For 2019, the figures were 0.9% for growth, 1.7% for inflation and 6.3% for unemployment;
        exports reached 47.3 billion dollars. Finally, in 2020 GDP contracted by 4.2%. Inflation
        was down to 0.3%, unemployment rose to 9% and exports dropped to $39.5 billion.""",
        """Please summarize the key economic indicators of Daklis from 2015 to 2020 in a table. The
        table should have the following columns in this sequence: Year, GDP Growth (%),
        Inflation (%), Unemployment (%), Exports (USD billion). Arrange the rows by Year in
        ascending order.""",
        ("Daklis", "key economic indicators"),
        "2015 to 2020",
        Condition("Year", "2015", "2020"),
    ),
    case(
        "Flagship phones of the maker Orvo",
        """Model | Release Date | Display (inches) | Battery (mAh) | Price (USD) | Wireless Charging
        Orvo One | March 2018 | 5.8 | 3,000 | 649 | No
        Orvo Two | April 2019 | 6.1 | 3,400 | 699 | Yes
        Orvo Three | March 2020 | 6.4 | 4,000 | - | Yes
        Orvo Four | May 2021 | 6.4 | 4,200 | 799 | Yes
        Orvo Five | - | 6.7 | 4,600 | 899 | Yes""",
        ("Battery (mAh)", "ascending"),
        """Orvo introduced its first flagship, the Orvo One, in March 2018. It had a 5.8-inch
        display and a battery of 3,000 mAh, sold for $649 and came without wireless charging.
        The Orvo Two followed in April 2019 with a 6.1-inch screen, a 3,400 mAh battery,
        wireless charging and a price of $699.

        The Orvo Three was released in March 2020. It offers a 6.4-inch display, a 4,000 mAh
        battery and wireless charging. In May 2021 the company presented the Orvo Four: 6.4 inches,
        4,200 mAh, wireless charging, $799. The Orvo Five is the largest of the line at 6.7 inches;
        its 4,600 mAh battery supports wireless charging, and the phone costs 899 dollars.""",
        """Create a table about the flagship phones of the maker Orvo with a battery of at least
        3,000 mAh. It should list, in this order, the columns "Model", "Release Date", "Display
        (inches)", "Battery (mAh)", "Price (USD)" and "Wireless Charging", and be sorted by
        "Battery (mAh)" from lowest to highest.""",
        ("flagship phones", "Orvo"),
        "at least 3,000 mAh",
        Condition("Battery (mAh)", "3000", None),
    ),
    case(
        "Bridges over the river Tarn",
        """Bridge | Opened | Type | Span (m) | Engineer | Cost (EUR million)
        Old Gate Bridge | 1891 | Arch | 46 | Hugo Stahl | 0.8
        Mill Bridge | 1924 | Truss | 72 | - | 1.1
        Harbour Bridge | 1957 | Suspension | 310 | Irene Vogt | 14.5
        North Bridge | 1988 | Cable-stayed | 255 | Pavel Rys | 62
        Library Footbridge | 2006 | Arch | - | Irene Vogt | 9.3""",
        ("Opened", "ascending"),
        """Five bridges cross the Tarn. Old Gate Bridge, an arch bridge by the engineer Hugo Stahl,
        opened in 1891. It spans 46 m and cost 0.8 million euros. Mill Bridge, a truss bridge
        with a span of 72 metres, was built for EUR 1.1 million and opened in 1924. The Harbour
        Bridge of 1957 is a suspension bridge with a span of 310 m; Irene Vogt designed it, and
        it cost 14.5 million euros.

        North Bridge, completed in 1988 to plans by Pavel Rys, is cable-stayed. Its span is 255 m,
        and the bill came to 62 million euros. In 2006 the Library Footbridge opened, another arch
        bridge and again the work of Irene Vogt, at a cost of 9.3 million euros.""",
        """I need a table of the bridges over the river Tarn that opened between 1890 and 2010. The
        columns, from left to right, are "Bridge", "Opened", "Type", "Span (m)", "Engineer" and
        "Cost (EUR million)". Sort by "Opened", ascending.""",
        ("bridges", "river Tarn"),
        "1890 to 2010",
        Condition("Opened", "1890", "2010"),
    ),
    case(
        "Medal table of the 2014 Polar Games",
        """Nation | Gold | Silver | Bronze | Athletes
        Norvia | 12 | 9 | 7 | 84
        Skadia | 10 | 11 | 4 | 77
        Laurentia | 6 | 5 | 8 | -
        Osterland | 3 | 0 | 5 | 41
        Merrow | 1 | 2 | - | 15""",
        ("Gold", "descending"),
        """Norvia topped the medal table of the 2014 Polar Games with twelve gold, nine silver and
        seven bronze medals, won by a team of 84 athletes. Skadia came next: its 77 athletes
        took 10 gold, 11 silver and 4 bronze medals. Laurentia won 6 golds, 5 silvers and 8
        bronzes.

        Osterland sent 41 athletes, who brought home three gold medals, no silver and five bronze.
        Merrow, with a team of only 15 athletes, celebrated one gold and two silver medals.""",
        """Make a table of the nations that won at least one gold medal at the 2014 Polar Games,
        with the columns Nation, Gold, Silver, Bronze, and Athletes, in that order. Sort the
        rows by Gold in descending order.""",
        ("nations", "2014 Polar Games"),
        "at least one gold medal",
        Condition("Gold", "1", None),
    ),
    case(
        "Orchestral works by Ilse Maren",
        """Work | Premiere | City | Conductor | Duration (min)
        Nightfall Overture | 1952-11-08 | Graz | Karl Benedek | 12
        Symphony No. 1 | 1956-02-24 | Linz | Karl Benedek | 38
        Cello Concerto | 1961-05-17 | Basel | - | 27
        Symphony No. 2 | 1967-10-03 | Graz | Ruth Amsel | 44
        Elegy | 1975-03-29 | Linz | Ruth Amsel | -""",
        ("Premiere", "ascending"),
        """Ilse Maren's Nightfall Overture was first heard on 8 November 1952 in Graz, where Karl
        Benedek conducted the twelve-minute piece (12 min). Benedek also led the premiere of
        Symphony No. 1 in Linz on 24 February 1956; the work lasts 38 minutes. Her Cello
        Concerto, which runs for 27 minutes, had its premiere in Basel on 17 May 1961.

        Symphony No. 2 lasts 44 minutes. It was first performed in Graz on October 3, 1967, with
        Ruth Amsel conducting. Amsel was again on the podium for the Elegy, premiered in Linz on
        March 29, 1975.""",
        """Please create a table of the orchestral works by Ilse Maren that had their premiere from
        1950 to 1980, based on the context. The columns should be, in order: "Work", "Premiere",
        "City", "Conductor", and "Duration (min)". Ensure the table is sorted by "Premiere" in
        ascending order.""",
        ("orchestral works", "Ilse Maren"),
        "1950 to 1980",
        Condition("Premiere", "1950-01-01", "1980-12-31"),
    ),
    case(
        "Wind farms in the county of Brask",
        """Wind Farm | Turbines | Capacity (MW) | Operator | Commissioned
        Stony Ridge | 14 | 28 | Brask Energi | 2009
        Kettle Moor | 22 | 66 | Aeolin | 2013
        Hareby | 9 | 30.6 | - | 2015
        Grey Bank | - | 120 | Aeolin | 2018
        Far Skerry | 48 | 384 | Northlight | 2022""",
        ("Commissioned", "ascending"),
        """The county of Brask has five wind farms. Stony Ridge, commissioned in 2009 by its
        operator Brask Energi, consists of 14 turbines with a total capacity of 28 MW. Kettle
        Moor and Far Skerry went into service in 2013 and 2022, respectively; they have 22 and
        48 turbines and capacities of 66 and 384 MW, and are run by Aeolin and Northlight.

        Hareby has been on the grid since 2015 with nine turbines and 30.6 MW. Grey Bank, another
        Aeolin project, was commissioned in 2018 and has a capacity of 120 megawatts.""",
        """Please compile a table on the wind farms in the county of Brask that were commissioned
        between 2009 and 2022 (inclusive). Columns, in this exact order: "Wind Farm";
        "Turbines"; "Capacity (MW)"; "Operator"; "Commissioned". Order the rows by
        "Commissioned" in ascending order.""",
        ("wind farms", "county of Brask"),
        "2009 to 2022",
        Condition("Commissioned", "2009", "2022"),
    ),
    case(
        "Acquisitions by Talvex Group",
        """Target | Announced | Deal Value (USD million) | Sector | Headquarters | Stake (%)
        Brightloom | 2016-03-15 | 240 | Textiles | Leeds | 100
        Copperline | 2017-09-01 | 1,150 | Telecoms | Denver | 51
        Fenwick Foods | 2018-01-22 | - | Food | Dublin | 100
        Datamill | 2019-06-30 | 85.5 | Software | Tallinn | 80
        Auralis | 2021-11-11 | 3,200 | Medical Devices | Basel | -""",
        ("Announced", "ascending"),
        """Talvex Group went on a buying spree between 2016 and 2021. On 15 March 2016 it announced
        the full takeover (100%) of Brightloom, a textiles company headquartered in Leeds, for
        $240 million. Copperline of Denver, active in telecoms, came next: on 1 September 2017
        Talvex agreed to buy 51% of it for $1.15 billion.

        The purchase of Fenwick Foods, a food producer from Dublin, was made public on 22 January
        2018 and covered 100 percent of the shares. Datamill, a software house in Tallinn, followed
        on June 30, 2019, when Talvex paid 85.5 million dollars for an 80 percent stake. The
        largest deal was announced on November 11, 2021: Auralis, a Basel maker of medical devices,
        for $3.2 billion.""",
        """Summarize the acquisitions that Talvex Group announced from 2016 through 2021 in a
        table. Its columns must be "Target", "Announced", "Deal Value (USD million)", "Sector",
        "Headquarters" and "Stake (%)", in that order. Sort the table by "Announced" in
        ascending order.""",
        ("acquisitions", "Talvex Group"),
        "2016 to 2021",
        Condition("Announced", "2016-01-01", "2021-12-31"),
    ),
    case(
        "Volcanoes of the Sarn Range",
        """Volcano | Elevation (m) | Last Eruption | Type | Country
        Mount Keth | 4,312 | 1987 | Stratovolcano | Arunda
        Ulmar | 3,870 | - | Shield | Arunda
        Sarn Peak | 3,655 | 2003 | Stratovolcano | Velia
        Pico Bravo | 2,940 | 1912 | Caldera | -
        Little Keth | 2,415 | 1987 | Cinder Cone | Arunda""",
        ("Elevation (m)", "descending"),
        """At 4,312 m, Mount Keth is the highest of the five volcanoes described here. It is a
        stratovolcano in Arunda and last erupted in 1987. Ulmar, a shield volcano in the same
        country, Arunda, reaches 3,870 m. Sarn Peak in Velia is 3,655 metres high; this
        stratovolcano saw its last eruption in 2003.

        Pico Bravo is a caldera that rises to 2,940 m and last erupted in 1912. Little Keth, a
        cinder cone in Arunda with an elevation of 2,415 m, erupted last in 1987.""",
        """List the volcanoes of the Sarn Range that are at least 2,400 m high in a table with the
        columns "Volcano", "Elevation (m)", "Last Eruption", "Type", "Country" (in this order),
        sorted by "Elevation (m)" in descending order.""",
        ("volcanoes", "Sarn Range"),
        "at least 2,400 m",
        Condition("Elevation (m)", "2400", None),
    ),
    case(
        "Supreme court rulings on water rights",
        """Case | Decided | Vote | Opinion By | Outcome
        Hale v. Orrin County | 1954 | 7-2 | Justice Moran | Affirmed
        In re Dry Creek | 1961 | 5-4 | Justice Pell | Reversed
        Tolliver v. State | 1968 | 9-0 | - | Affirmed
        Basin Water Co. v. Lund | 1973 | 6-3 | Justice Adair | Remanded
        City of Merrin v. Oakes | 1982 | - | Justice Adair | Reversed""",
        ("Decided", "ascending"),
        """Hale v. Orrin County was decided in 1954 by a vote of 7-2; Justice Moran wrote the
        opinion, and the judgment below was affirmed. In 1961, In re Dry Creek split the court
        5\u20134. The opinion by Justice Pell reversed the lower court. Tolliver v. State,
        decided 9-0 in 1968, affirmed the earlier ruling.

        In Basin Water Co. v. Lund (1973), the court voted 6-3 and remanded the case in an opinion
        by Justice Adair. Justice Adair also wrote for the court in City of Merrin v. Oakes,
        decided in 1982, which was reversed.""",
        """From the given text, create a table of the supreme court rulings on water rights decided
        from 1950 to 1985. Please include these columns in the given order: "Case", "Decided",
        "Vote", "Opinion By", "Outcome". The table should be sorted by "Decided" in ascending
        order.""",
        ("supreme court rulings", "water rights"),
        "1950 to 1985",
        Condition("Decided", "1950", "1985"),
    ),
    case(
        "Top scorers of the Coastal League, season 2018-19",
        """Rank | Player | Club | Goals | Assists | Appearances
        1 | Tomas Reyer | FC Alden | 27 | 8 | 34
        2 | Luka Benic | Harrow City | 24 | 11 | 33
        3 | Samu Okoro | Port Hale | 21 | - | 30
        4 | Denis Falke | Harrow City | 19 | 6 | 34
        5 | Marco Vint | Selby Town | 17 | 9 | -""",
        ("Rank", "ascending"),
        """Tomas Reyer of FC Alden finished first among the scorers of the Coastal League with 27
        goals and 8 assists in 34 appearances. Second place went to Luka Benic from Harrow City,
        who scored 24 goals, set up 11 and appeared 33 times. Samu Okoro, ranked third, got 21
        goals in 30 matches for Port Hale.

        Denis Falke, Benic's team-mate at Harrow City, was fourth: he played 34 times, scoring 19
        goals and assisting 6. Selby Town's Marco Vint completed the list in fifth place with 17
        goals and nine assists.""",
        """Please build a table of the five best scorers of the Coastal League in the season
        2018-19. Use the columns "Rank", "Player", "Club", "Goals", "Assists" and "Appearances"
        in this order and sort them by "Rank" in ascending order.""",
        ("top scorers", "Coastal League"),
        None,
    ),
    case(
        "Clinical trials of the drug velanib",
        """Trial | Phase | Patients | Start Year | Lead Site | Response Rate (%)
        VELA-1 | I | 36 | 2011 | Uppsala | -
        VELA-2 | II | 148 | 2013 | Lyon | 31
        VELA-EAST | II | 95 | 2014 | Busan | 28.5
        VELA-3 | III | 1,204 | 2016 | - | 34
        VELA-LT | IV | 2,860 | 2019 | Lyon | 33.2""",
        ("Start Year", "ascending"),
        """Velanib has been studied in five trials. VELA-1, a phase I study led from Uppsala, began
        in 2011 with 36 patients. VELA-2 was a phase II trial that started in 2013; coordinated
        in Lyon, it enrolled 148 patients and found a response rate of 31%. A second phase II
        study, VELA-EAST, began in 2014 in Busan with 95 patients, 28.5% of whom responded.

        The phase III trial VELA-3 started in 2016 and included 1,204 patients, with a response
        rate of 34%. The phase IV study VELA-LT, again led from Lyon, opened in 2019 and followed
        2,860 patients; 33.2 percent of them responded.""",
        """Create a table of clinical trials of the drug velanib that started between 2010 and
        2020. The columns should appear in this order: Trial, Phase, Patients, Start Year, Lead
        Site, Response Rate (%). Sort the rows by Start Year in ascending order.""",
        ("clinical trials", "velanib"),
        "2010 to 2020",
        Condition("Start Year", "2010", "2020"),
    ),
    case(
        "Space telescopes of the Astra programme",
        """Telescope | Launch Date | Mirror (m) | Orbit | Mass (kg) | Status
        Astra-1 | 1994-04-19 | 0.6 | Low Earth | 1,100 | Deorbited
        Astra-2 | 1999-10-02 | 0.9 | Low Earth | 1,450 | Deorbited
        Helion | 2005-08-27 | 1.1 | Sun-Synchronous | - | Retired
        Astra-3 | 2012-12-05 | 2.4 | L2 | 3,300 | Active
        Far Eye | 2021-07-14 | 3.5 | L2 | 5,200 | -""",
        ("Launch Date", "ascending"),
        """The Astra programme began with Astra-1, launched on 19 April 1994 into low Earth orbit.
        The 1,100 kg telescope carried a 0.6 m mirror and has since deorbited. Astra-2 was
        launched on 2 October 1999, also to low Earth orbit; it weighed 1,450 kg, had a mirror
        of 0.9 m, and has deorbited as well. Helion, now retired, was placed in a
        sun-synchronous orbit on August 27, 2005, and used a 1.1-metre mirror.

        Astra-3 has been active at L2 since its launch on December 5, 2012. Its mirror measures 2.4
        m and its mass is 3,300 kg. On July 14, 2021, it was joined at L2 by Far Eye, which has a
        mass of 5,200 kg and a 3.5 m mirror.""",
        """Please create a table of the space telescopes of the Astra programme launched from 1994
        to 2021, using exactly these columns in this order: "Telescope", "Launch Date", "Mirror
        (m)", "Orbit", "Mass (kg)", "Status". Sort it chronologically by "Launch Date"
        (ascending).""",
        ("space telescopes", "Astra programme"),
        "1994 to 2021",
        Condition("Launch Date", "1994-01-01", "2021-12-31"),
    ),
    case(
        "Universities in the state of Corvane",
        """University | Founded | Students | Type | City | Acceptance Rate
        Saint Ansgar College | 1847 | 2,300 | Private | Ansgar | 41%
        University of Corvane | 1869 | 38,000 | Public | Lorne | 63%
        Corvane Institute of Technology | 1903 | 11,500 | Public | Halse | -
        Bellmar University | 1926 | - | Private | Lorne | 22%
        Lakeside State | 1964 | 17,800 | Public | Wick | 78%""",
        ("Founded", "ascending"),
        """The oldest university in Corvane is Saint Ansgar College, a private institution founded
        in 1847 in the town of Ansgar. It has 2,300 students and admits 41% of its applicants.
        The public University of Corvane in Lorne dates from 1869; with 38,000 students it is
        the largest, and its acceptance rate is 63%. In 1903 the Corvane Institute of Technology
        was founded in Halse. This public university teaches 11,500 students.

        Bellmar University, private and likewise located in Lorne, was established in 1926. Only 22
        percent of those who apply are accepted. Lakeside State, a public university in Wick
        founded in 1964, enrols 17,800 students and has an acceptance rate of 78 percent.""",
        """Make me a table of the universities in the state of Corvane founded before 1970. I want
        the columns "University", "Founded", "Students", "Type", "City", and "Acceptance Rate",
        exactly in this sequence, with rows sorted by "Founded" in ascending order.""",
        ("universities", "state of Corvane"),
        "before 1970",
        Condition("Founded", None, "1969"),
    ),
    case(
        "Treaties signed at Castle Vesper",
        """Treaty | Signed | Parties | Ratified | Chief Negotiator
        Peace of Vesper | 4 May 1648 | 5 | 1649 | Count Orsen
        Salt Accord | 11 September 1702 | 2 | 1702 | -
        Treaty of the Three Rivers | 29 February 1756 | 3 | 1757 | Lady Amelie Brandt
        Vesper Convention | 17 July 1815 | 8 | - | Baron Keil
        Customs Protocol | 1 December 1871 | 4 | 1873 | Otto Maas""",
        ("Signed", "ascending"),
        """The Peace of Vesper was signed on May 4, 1648, by five parties and ratified in 1649,
        with Count Orsen as chief negotiator. Two parties concluded the Salt Accord on September
        11, 1702; it was ratified that same year, in 1702. The Treaty of the Three Rivers,
        negotiated by Lady Amelie Brandt, was signed by three parties on February 29, 1756, and
        ratified in 1757.

        Eight parties signed the Vesper Convention on July 17, 1815, after talks led by Baron Keil.
        The Customs Protocol dates from December 1, 1871. It had four parties, its chief negotiator
        was Otto Maas, and ratification followed in 1873.""",
        """Please tabulate the treaties signed at Castle Vesper from 1648 to 1871. The columns
        should be, in order, "Treaty", "Signed", "Parties", "Ratified", "Chief Negotiator"; sort
        the table by "Signed" in ascending order.""",
        ("treaties", "Castle Vesper"),
        "1648 to 1871",
        Condition("Signed", "1648-01-01", "1871-12-31"),
    ),
    case(
        "Best-selling albums of the band Pale Harbor",
        """Album | Year | Label | Copies Sold | Chart Peak
        Tidewater | 1987 | Moth Records | 1,200,000 | 3
        Glass Lanterns | 1989 | Moth Records | 3,500,000 | 1
        Slow Machines | 1992 | Ardent Sky | 2,000,000 | 2
        Kingfisher | 1995 | Ardent Sky | - | 5
        Home Again | 2001 | - | 900,000 | 11""",
        ("Year", "ascending"),
        """Pale Harbor's debut Tidewater came out on Moth Records in 1987, sold 1.2 million copies
        and peaked at number 3. The follow-up Glass Lanterns, issued by the same label, Moth
        Records, in 1989, went to number 1 and sold 3.5 million copies. For Slow Machines,
        released in 1992, the band moved to Ardent Sky; the album sold two million copies and
        reached number 2.

        Kingfisher (Ardent Sky, 1995) climbed to number 5. The band's comeback Home Again peaked at
        number 11 in 2001 and sold 900,000 copies.""",
        """Based on the context, create a table of the best-selling albums of the band Pale Harbor
        that were released from 1985 to 2005. The table must have the columns "Album", "Year",
        "Label", "Copies Sold" and "Chart Peak" in that exact order and be sorted by "Year" in
        ascending order.""",
        ("albums", "Pale Harbor"),
        "1985 to 2005",
        Condition("Year", "1985", "2005"),
    ),
    case(
        "National parks of Ostrea by area",
        """Park | Established | Area (km\u00b2) | Region | Annual Visitors | Highest Point (m)
        Great Fen | 1931 | 1,840 | East | 410,000 | -
        Mirror Lakes | 1948 | 1,265 | North | 1,000,000 | 2,107
        Karst Plateau | 1956 | 902 | South | - | 1,388
        Silverwood | 1972 | 640 | North | 275,000 | 934
        Cape Tern | 1999 | 118 | West | 530,000 | 86""",
        ("Area (km\u00b2)", "descending"),
        """Great Fen, in the east of Ostrea, is the country's largest national park: established in
        1931, it covers 1,840 km\u00b2 and receives 410,000 visitors a year. Mirror Lakes in the
        north was established in 1948. It covers 1,265 square kilometres, draws one million
        visitors every year, and its highest point lies at 2,107 m.

        The Karst Plateau in the south became a park in 1956; it extends over 902 km\u00b2 and
        rises to 1,388 m. Silverwood, created in 1972 in the north, has an area of 640 km\u00b2,
        275,000 visitors annually and a highest point of 934 m. The smallest park, Cape Tern in the
        west, dates from 1999. Its 118 km\u00b2 reach up to just 86 m, and 530,000 people visit it
        each year.""",
        """Please create a table of the national parks of Ostrea established between 1930 and 2000,
        with the columns "Park", "Established", "Area (km\u00b2)", "Region", "Annual Visitors",
        "Highest Point (m)" in this order. Sort the table by "Area (km\u00b2)" in descending
        order.""",
        ("national parks", "Ostrea"),
        "1930 to 2000",
        Condition("Established", "1930", "2000"),
    ),
    case(
        "Electric buses tested in Merrin in 2023",
        """Bus | Manufacturer | Range (km) | Seats | Charging Time (h) | Test Score
        E-Liner 12 | Volmar | 280 | 38 | 3.5 | 8.1
        CityVolt | Hanse Motor | 310 | 42 | - | 7.4
        Greenway S | Volmar | 345 | 36 | 4 | 8.8
        UrbanOne | Tesso | 400 | - | 5.5 | 7.9
        Metro Spark | Jin Bus | 455 | 45 | 6 | 9.0""",
        ("Range (km)", "ascending"),
        """In 2023 the city of Merrin tested five electric buses. Volmar's E-Liner 12 managed 280
        km on one charge, seats 38 passengers, takes three and a half hours (3.5 h) to charge
        and scored 8.1 points. The CityVolt by Hanse Motor has 42 seats, a range of 310 km and a
        test score of 7.4. Volmar also entered the Greenway S, with a range of 345 km, 36 seats,
        a charging time of 4 hours and a score of 8.8.

        Tesso's UrbanOne went 400 km, needs 5.5 hours to charge, and scored 7.9. The best result,
        9.0, was achieved by the Metro Spark from Jin Bus: it travels 455 km, offers 45 seats and
        charges in 6 hours.""",
        """Please summarize the electric buses with a range of 250 to 500 km that were tested in
        Merrin in 2023. List these columns in order: "Bus", "Manufacturer", "Range (km)",
        "Seats", "Charging Time (h)", "Test Score". Sort the table by "Range (km)" in ascending
        order.""",
        ("electric buses", "tested in Merrin in 2023"),
        "250 to 500 km",
        Condition("Range (km)", "250", "500"),
    ),
    case(
        "Lighthouses on the Skarn coast",
        """Lighthouse | Built | Height (m) | Range (nmi) | Automated
        St. Brannock | 1802 | 21 | 14 | 1978
        Gull Rock | 1835 | 33 | 18 | -
        Cape Dread | 1859 | 41.5 | 22 | 1986
        Inner Ness | 1877 | - | 12 | 1969
        Skarn Point | 1904 | 27 | 20 | 1991""",
        ("Built", "ascending"),
        """Five lighthouses guard the Skarn coast. The oldest is St. Brannock, built in 1802: the
        21 m tower has a range of 14 nautical miles and was automated in 1978. Gull Rock dates
        back to 1835; it stands 33 m tall and can be seen for 18 nautical miles. Cape Dread,
        built in 1859, is the tallest at 41.5 m, with a range of 22 nautical miles; keepers left
        when it was automated in 1986.

        Inner Ness was built in 1877. Its light carries 12 nautical miles, and it has been
        automated since 1969. The youngest, Skarn Point from 1904, is 27 m high, reaches 20
        nautical miles and was automated in 1991.""",
        """Create a table of the lighthouses on the Skarn coast built in the nineteenth and early
        twentieth century, that is from 1801 to 1910, with these columns in order: "Lighthouse",
        "Built", "Height (m)", "Range (nmi)", "Automated". Arrange the rows by "Built" in
        ascending order.""",
        ("lighthouses", "Skarn coast"),
        "1801 to 1910",
        Condition("Built", "1801", "1910"),
    ),
    case(
        "Winners of the Aldersee Marathon, 2010-2016",
        """Year | Winner | Nationality | Time | Age
        2010 | Petra Holm | Norwegian | 2:31:07 | 29
        2011 | Wanjiru Kimani | Kenyan | 2:28:44 | -
        2012 | Lena Brandt | German | 2:33:19 | 34
        2014 | Sofia Marques | Portuguese | - | 27
        2016 | Almaz Desta | Ethiopian | 2:26:50 | 23""",
        ("Year", "ascending"),
        """The 2010 Aldersee Marathon was won by the Norwegian runner Petra Holm, then 29 years
        old, in a time of 2:31:07. A year later, in 2011, Wanjiru Kimani of Kenya, the first
        Kenyan winner, finished in 2:28:44. Lena Brandt, a 34-year-old German, took the 2012
        race with 2:33:19.

        In 2014 victory went to Sofia Marques, a Portuguese athlete aged 27. The 2016 edition saw
        the 23-year-old Ethiopian Almaz Desta win in 2:26:50.""",
        """Create a table of the winners of the Aldersee Marathon from 2010 to 2016. The columns
        should be, in order: Year, Winner, Nationality, Time, Age. Sort the table by Year in
        ascending order.""",
        ("winners", "Aldersee Marathon"),
        "2010 to 2016",
        Condition("Year", "2010", "2016"),
    ),
    case(
        "Quarterly results of Fenmark AG and Ostrum plc in 2021",
        """Company | Quarter | Revenue (EUR million) | Net Profit (EUR million) | Employees
        Fenmark AG | Q1 2021 | 310 | 21.5 | 4,100
        Fenmark AG | Q2 2021 | 325 | 24.0 | 4,150
        Ostrum plc | Q1 2021 | 288 | 12.2 | 3,900
        Ostrum plc | Q2 2021 | 279 | 9.8 | 3,870
        Velden SE | Q1 2021 | 154 | - | 1,200""",
        ("Company", "ascending"),
        """In the first quarter of 2021 (Q1 2021), Fenmark AG reported revenue of EUR 310 million
        and a net profit of 21.5 million euros with 4,100 employees. In Q2 2021, Fenmark's
        revenue rose to 325 million euros, its net profit to 24 million and its workforce to
        4,150.

        Ostrum plc had revenue of 288 million euros in Q1 2021, a net profit of 12.2 million and
        3,900 employees; for Q2 2021 it reported 279 million, 9.8 million and 3,870, respectively.
        Velden SE, with 1,200 employees, recorded revenue of 154 million euros in Q1 2021.""",
        """Please create a table with the quarterly results of companies of the Marn index for the
        first half of 2021, with the columns "Company", "Quarter", "Revenue (EUR million)", "Net
        Profit (EUR million)" and "Employees" in this order. Sort by "Company" in ascending
        order.""",
        ("quarterly results",),
        None,
    ),
    case(
        "Members of the Harlow expedition",
        """Name | Role | Age | Nationality | Joined At
        Cpt. Elias Harlow | Leader | 44 | British | London
        Dr. Mina Osei | Physician | 38 | Ghanaian | Cape Town
        Jean-Luc Arnaud | Navigator | - | French | Cape Town
        Tove Lind | Cook | 26 | Swedish | -
        William O'Shea | Carpenter | 51 | Irish | London""",
        ("Name", "ascending"),
        """The leader of the expedition was Cpt. Elias Harlow, a 44-year-old British officer who
        set out from London. Dr. Mina Osei, 38, served as its physician; the Ghanaian joined at
        Cape Town. So did the French navigator, Jean-Luc Arnaud, who came aboard at Cape Town.

        Tove Lind, the Swedish cook, was 26. William O'Shea, an Irish carpenter of 51, had been
        with the group since London.""",
        """Make a table of the members of the Harlow expedition aged 20 to 60, with columns "Name",
        "Role", "Age", "Nationality", and "Joined At" in that order. Sort alphabetically by
        "Name".""",
        ("members", "Harlow expedition"),
        None,
    ),
    case(
        "Cheeses of the Vallin region",
        """Cheese | Milk | Fat Content | Aging (months) | Protected Since | Annual Output (t)
        Bleu de Sarre | Cow | 48% | 3 | 1979 | 610
        Crottin Vallin | Goat | 45% | 1 | 1996 | 85
        Petit Lac | Cow | - | 2 | 2004 | 240
        Tomme d'Arlet | Cow | 40% | 6 | - | 1,900
        Vieux Montais | Sheep | 50% | 12 | 1983 | -""",
        ("Cheese", "ascending"),
        """Bleu de Sarre is a cow's milk cheese with 48% fat that is aged for three months. It has
        been protected since 1979, and 610 tonnes are produced annually. Crottin Vallin, made
        from goat's milk, contains 45 percent fat, ripens for one month and gained protection in
        1996; its annual output is 85 t.

        Tomme d'Arlet (cow, 40% fat) ages six months and is made in quantities of 1,900 tonnes a
        year. Vieux Montais is the region's sheep cheese: 50% fat, twelve months of aging,
        protected since 1983. Petit Lac, from cow's milk, matures for 2 months. It was granted
        protection in 2004 and reaches an output of 240 tonnes per year.""",
        """Please list the cheeses of the Vallin region in a table. Columns in order: "Cheese",
        "Milk", "Fat Content", "Aging (months)", "Protected Since", "Annual Output (t)". Order
        rows by "Cheese" from A to Z.""",
        ("cheeses", "Vallin region"),
        None,
    ),
    case(
        "Metro lines of Port Sabel",
        """Line | Opened | Length (km) | Stations | Color | Daily Riders
        M1 | 1968 | 14.2 | 17 | Red | 310,000
        M2 | 1975 | 21.7 | 24 | Blue | 275,500
        M3 | 1989 | 9.8 | - | Green | 98,000
        M4 | 2003 | 30.1 | 22 | - | 412,000
        M5 | 2018 | 12.5 | 11 | Yellow | -""",
        ("Opened", "ascending"),
        """Line M1, the red line, opened in 1968 and runs 14.2 km through 17 stations, carrying
        310,000 riders a day. The blue M2 opened seven years later, in 1975; it has 24 stations
        on 21.7 km and 275,500 daily riders. M3, which is green on the map, has a length of 9.8
        km, opened in 1989 and is used by 98,000 people each day.

        At 30.1 km, M4 is the longest line. Opened in 2003, it serves 22 stations and 412,000
        passengers per day. The newest line is the yellow M5 from 2018, with 11 stations along 12.5
        km.""",
        """Create a table of the metro lines of Port Sabel opened between 1965 and 2020 with the
        columns "Line", "Opened", "Length (km)", "Stations", "Color", "Daily Riders", in that
        order, sorted by "Opened" in ascending order.""",
        ("metro lines", "Port Sabel"),
        "1965 to 2020",
        Condition("Opened", "1965", "2020"),
    ),
    case(
        "Hurricanes of the 1999 Tessaly season",
        """Storm | Category | Peak Wind (km/h) | Landfall | Deaths | Damage (USD million)
        Agatha | 1 | 130 | June 12, 1999 | 0 | 45
        Bruno | 3 | 195 | July 30, 1999 | 12 | 820
        Celeste | 2 | 165 | - | 3 | 210
        Dario | 4 | 230 | September 9, 1999 | 57 | 2,300
        Elena | 1 | 140 | October 2, 1999 | - | 60""",
        ("Storm", "ascending"),
        """Agatha, a category 1 hurricane with peak winds of 130 km/h, made landfall on June 12,
        1999. It caused damage of $45 million but claimed no lives. Bruno reached category 3
        with winds of up to 195 km/h. When it made landfall on 30 July 1999, twelve people died
        and damage amounted to 820 million dollars.

        Celeste was a category 2 storm: 165 km/h peak wind, three deaths and 210 million dollars in
        damage. The strongest storm was Dario (category 4), whose winds peaked at 230 km/h; after
        landfall on 9 September 1999 it killed 57 people and left behind damage of $2.3 billion.
        Elena, category 1, came ashore on October 2, 1999, with winds of 140 km/h and caused $60
        million in damage.""",
        """Please make a table of the hurricanes of the 1999 Tessaly season with the columns
        "Storm", "Category", "Peak Wind (km/h)", "Landfall", "Deaths" and "Damage (USD million)"
        in this exact order, sorted by "Storm" in ascending order.""",
        ("hurricanes", "1999 Tessaly season"),
        "1999",
    ),
    case(
        "Prime ministers of Ostrea since 1980",
        """Prime Minister | Party | Took Office | Left Office | Previous Post
        Harald Venn | Liberal | 14 May 1980 | 2 June 1987 | Finance Minister
        Ines Cordova | Labour | 2 June 1987 | 20 November 1993 | Mayor of Lorne
        Rolf Astrup | Liberal | 20 November 1993 | - | -
        Greta Simm | Green | 8 April 1999 | 17 March 2008 | Environment Minister
        Paul Odin | Labour | 17 March 2008 | 30 June 2015 | Trade Unionist""",
        ("Took Office", "ascending"),
        """Harald Venn of the Liberal party, until then finance minister, took office on May 14,
        1980, and left it on June 2, 1987. On the same day, 2 June 1987, he was succeeded by
        Labour's Ines Cordova, who had been mayor of Lorne; she left office on 20 November 1993.
        Rolf Astrup, a Liberal, took over on 20 November 1993.

        Greta Simm of the Green party, previously environment minister, governed from 8 April 1999
        until 17 March 2008. Her successor Paul Odin, a former trade unionist from Labour, held
        office from March 17, 2008, to June 30, 2015.""",
        """Summarize the prime ministers of Ostrea who took office between 1980 and 2010 in a table
        with the following columns in this sequence: "Prime Minister", "Party", "Took Office",
        "Left Office", "Previous Post". Sort by "Took Office" in ascending order.""",
        ("prime ministers", "Ostrea"),
        "1980 to 2010",
        Condition("Took Office", "1980-01-01", "2010-12-31"),
    ),
    case(
        "Dams on the upper Neven",
        """Dam | Completed | Height (m) | Reservoir (million m\u00b3) | Power (MW) | River Section
        Karsten | 1932 | 48 | 35 | 22 | Upper
        Holm | 1951 | 96.5 | 410 | 180 | Upper
        Vetra | 1964 | 121 | 1,250 | - | Upper
        Sillen | 1978 | 73 | - | 95 | Upper
        Ober | 1990 | 39 | 18 | 14.5 | Upper""",
        ("Completed", "ascending"),
        """All five dams stand on the upper section of the Neven. Karsten was completed in 1932; at
        48 m in height, it holds back 35 million m\u00b3 and generates 22 MW. Holm, finished in
        1951, is 96.5 m high, with a reservoir of 410 million cubic metres and an output of 180
        MW. With its completion in 1964, Vetra became the tallest of them at 121 m, and its
        reservoir of 1.25 billion m\u00b3 the largest.

        Sillen, 73 m high and completed in 1978, has a capacity of 95 MW. Ober dates from 1990. It
        is 39 m high, impounds 18 million m\u00b3 and delivers 14.5 MW.""",
        """I would like a table of the dams on the upper Neven completed from 1930 to 1990. Its
        columns, in this order, are "Dam", "Completed", "Height (m)", "Reservoir (million
        m\u00b3)", "Power (MW)", "River Section". Please sort it by "Completed" in ascending
        order.""",
        ("dams", "upper Neven"),
        "1930 to 1990",
        Condition("Completed", "1930", "1990"),
    ),
)
