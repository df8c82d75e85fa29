"""Sentences as language models write them over small clean tables, and what is to be found."""

from __future__ import annotations

import pytest

from tablemend.claims.extract import extract_claims
from tablemend.evidence.source import Source
from tablemend.tables.table import Table
from tablemend.verification.program import verify_document

TABLES: dict[str, tuple[str, ...]] = {
    "players": (
        "Player|Team|Points|Rebounds",
        "LeBron James|Lakers|24|8",
        "Stephen Curry|Warriors|31|5",
        "Nikola Jokic|Nuggets|28|14",
        "Anthony Davis|Lakers|19|12",
    ),
    "quarters": (
        "Metric|Q1 2023|Q2 2023|Q3 2023|Q4 2023",
        "Revenue ($ millions)|120.5|131.0|128.4|142.7",
        "Net income ($ millions)|12.1|15.0|9.8|18.3",
        "Operating margin (%)|14.2|15.1|11.9|16.4",
    ),
    "laboratory": (
        "Test|Result|Unit|Reference range|Flag",
        "Hemoglobin|10.2|g/dL|12.0-15.5|L",
        "WBC|11.8|10^9/L|4.0-11.0|H",
        "Platelets|250|10^9/L|150-400|",
    ),
    "medals": (
        "Country|Year|Gold|Silver|Bronze|Total",
        "Norway|2018|14|14|11|39",
        "Germany|2018|14|10|7|31",
        "Canada|2018|11|8|10|29",
        "Norway|2022|16|8|13|37",
        "Germany|2022|12|10|5|27",
        "Canada|2022|4|8|14|26",
    ),
    "person": (
        "Attribute|Value",
        "Name|Ada Lovelace",
        "Born|10 December 1815",
        "Died|27 November 1852",
        "Occupation|Mathematician",
        "Children|3",
    ),
    "dashboard": (
        "KPI|Target|Jan 2024|Feb 2024|Mar 2024",
        "Monthly active users|50,000|47,200|49,800|52,100",
        "Churn rate (%)|3.0|3.4|3.1|2.8",
        "Support tickets|900|1,120|980|870",
        "Net promoter score|45|41|44|47",
    ),
    "election": (
        "Candidate|Party|Votes|Share (%)|Seats",
        "Maria Lopez|Green Alliance|41,200|38.4|12",
        "John Reed|Liberal Party|35,900|33.5|10",
        "Anna Schmidt|Conservative Union|22,100|20.6|6",
        "Peter Novak|Independent|8,050|7.5|1",
    ),
    "phones": (
        "Feature|Aero 5|Nova X|Pixelon 3",
        "Price ($)|699|899|549",
        "Battery (mAh)|4,500|5,000|4,200",
        "Weight (g)|185|210|172",
        "Storage (GB)|128|256|128",
        "Waterproof|Yes|Yes|No",
    ),
    "weather": (
        "Day|High (°C)|Low (°C)|Rain (mm)|Conditions",
        "Monday|21|12|0|Sunny",
        "Tuesday|19|11|4.2|Showers",
        "Wednesday|16|9|12.5|Rain",
        "Thursday|18|8|0.3|Cloudy",
        "Friday|23|13|0|Sunny",
    ),
    "league": (
        "Pos|Team|Played|Won|Drawn|Lost|GF|GA|Points",
        "1|Arden Rovers|20|14|3|3|41|18|45",
        "2|Kelso City|20|13|4|3|38|20|43",
        "3|Port Vale|20|11|5|4|35|22|38",
        "4|Dunmore United|20|6|4|10|21|30|22",
        "5|Halton Athletic|20|3|4|13|15|40|13",
    ),
    "models": (
        "Model|Parameters (M)|SQuAD F1|MNLI accuracy|SST-2 accuracy",
        "BERT-base|110|88.5|84.6|93.5",
        "RoBERTa-base|125|91.5|87.6|94.8",
        "DistilBERT|66|86.9|82.2|91.3",
        "ALBERT-base|12|89.3|81.6|90.3",
    ),
    "cities": (
        "City|2000|2010|2020",
        "Berlin|3,382,000|3,461,000|3,664,000",
        "Hamburg|1,715,000|1,786,000|1,852,000",
        "Munich|1,210,000|1,353,000|1,488,000",
        "Leipzig|493,000|523,000|605,000",
    ),
    "films": (
        "Film|Director|Year|Budget ($ millions)|Gross ($ millions)",
        "Silent Harbor|Eva Lind|2019|40|152.3",
        "Red Meridian|Tom Hale|2021|120|310.8",
        "Paper Moons|Eva Lind|2022|25|61.4",
        "The Last Ferry|Ravi Menon|2022|80|74.9",
    ),
    "sales": (
        "Region|Q1|Q2|Q3|Q4|Total",
        "North|120|135|128|150|533",
        "South|98|91|104|110|403",
        "East|143|150|162|171|626",
        "West|87|95|90|102|374",
        "Total|448|471|484|533|1,936",
    ),
    "energy": (
        "Country|Coal (%)|Gas (%)|Wind (%)|Solar (%)|Nuclear (%)",
        "Germany|26.1|16.4|31.1|12.3|1.5",
        "France|0.4|6.1|10.2|4.7|65.0",
        "Poland|60.5|10.1|13.9|8.0|0.0",
        "Spain|1.5|17.2|23.5|16.9|20.3",
    ),
    "trial": (
        "Arm|Patients|Responders|Response rate (%)|Serious adverse events|Median survival (months)",
        "Drug A|152|67|44.1|12|18.4",
        "Drug B|149|52|34.9|9|15.2",
        "Placebo|151|24|15.9|4|11.0",
    ),
    "stock": (
        "Date|Open|Close|Volume",
        "2024-05-06|181.2|183.4|51,200,000",
        "2024-05-07|183.5|182.1|48,900,000",
        "2024-05-08|182.0|185.6|60,300,000",
        "2024-05-09|185.9|184.8|45,700,000",
    ),
    "hotels": (
        "Hotel|City|Rating|Price per night ($)|Rooms|Breakfast included",
        "Grand Palais|Lyon|4.6|210|120|Yes",
        "Hotel Lumen|Paris|4.2|185|64|No",
        "Casa Verde|Seville|4.8|140|22|Yes",
        "The Anchor|Bristol|3.9|95|40|No",
    ),
    "museums": (
        "Museum|2021|2022|2023",
        "City Gallery|84,000|112,000|131,500",
        "Science Hall|65,400|98,700|97,200",
        "Maritime Museum|21,300|35,800|40,100",
    ),
    "matches": (
        "Date|Home|Score|Away|Attendance",
        "3 March 2023|Lions|2-1|Bears|18,204",
        "10 March 2023|Hawks|0-0|Lions|15,377",
        "17 March 2023|Bears|3-0|Hawks|12,950",
    ),
    "staff": (
        "Name|Department|Start year|Salary ($)|Location",
        "Dana Fox|Engineering|2018|98,000|Boston",
        "Luis Ortega|Marketing|2020|72,500|Chicago",
        "Mei Chen|Engineering|2015|121,000|Boston",
        "Omar Said|Finance|2021|83,400|New York",
    ),
    "company": (
        "Property|Value",
        "Company|Brightwell Energy",
        "Founded|1998",
        "Headquarters|Oslo, Norway",
        "CEO|Ingrid Berg",
        "Employees|4,300",
        "Revenue|$1.9 billion",
    ),
    "towns": (
        "City|Population 2010|Population 2020|Area (km2)",
        "Oslo|586,860|693,494|454",
        "Bergen|256,580|283,929|465",
        "Trondheim|170,936|205,163|342",
        "Stavanger|124,936|143,574|71",
    ),
    "staffing": (
        "Department|Headcount 2022|Headcount 2023|Attrition (%)|Manager",
        "Engineering|120|150|8.5|Ana Lopez",
        "Sales|80|72|15.2|Tom Reed",
        "Support|60|66|21.0|Mei Chen",
        "Finance|25|25|4.0|Omar Aziz",
    ),
    "gadgets": (
        "Product|Price|Rating|Units sold|Launch",
        "Aero 5|$299|4.5|12,400|March 2021",
        "Bolt X|$349|4.1|8,950|June 2022",
        "Cirrus|$199|4.7|20,100|January 2020",
        "Dyno|$499|3.8|3,300|June 2023",
    ),
    "panel": (
        "Test|Result|Unit|Reference range|Flag",
        "Hemoglobin|10.2|g/dL|13.5-17.5|L",
        "Leukocytes|7.4|10^3/uL|4.5-11.0|",
        "Platelets|455|10^3/uL|150-400|H",
        "Creatinine|0.9|mg/dL|0.7-1.3|",
        "Potassium|5.6|mmol/L|3.5-5.1|H",
    ),
    "shops": (
        "Region|Product|Units sold|Revenue (USD)|Year",
        "North|Laptop|1,200|960,000|2022",
        "South|Laptop|850|680,000|2022",
        "East|Tablet|2,400|720,000|2022",
        "West|Phone|3,100|1,550,000|2022",
    ),
}
"""Header and rows of each table; cells parted by bars."""

SUPPORTED = [
    ("players", "Stephen Curry scored the most points with 31, ahead of Nikola Jokic."),
    ("players", "Jokic grabbed 14 rebounds for the Nuggets."),
    ("players", "Three players scored more than 20 points."),
    ("players", "The Lakers had two players in the table."),
    ("players", "LeBron James and Anthony Davis combined for 43 points."),
    ("players", "Curry outscored Jokic by 3 points."),
    ("players", "All players scored at least 19 points."),
    ("players", "Only Stephen Curry scored more than 30 points."),
    ("players", "Nikola Jokic had the second most points."),
    ("players", "James had 8 rebounds and 24 points."),
    ("players", "Davis had a double-double with 19 points and 12 rebounds."),
    ("players", "The four players averaged 25.5 points."),
    ("players", "Most players scored over 20 points."),
    ("players", "Anthony Davis plays for the Lakers."),
    ("quarters", "Revenue rose from $120.5 million in Q1 2023 to $131.0 million in Q2 2023."),
    ("quarters", "Revenue fell in Q3 2023 to $128.4 million."),
    ("quarters", "Net income peaked in Q4 2023 at $18.3 million."),
    ("quarters", "Net income was lowest in the third quarter."),
    ("quarters", "The operating margin was 16.4% in Q4 2023."),
    ("quarters", "The operating margin was 16% in Q4 2023."),
    ("quarters", "Revenue grew by 8.7% from Q1 to Q2 2023."),
    ("quarters", "Total revenue for the four quarters was $522.6 million."),
    ("quarters", "Operating margin declined by 3.2 percentage points between Q2 and Q3 2023."),
    ("laboratory", "Hemoglobin was low at 10.2 g/dL."),
    ("laboratory", "The white blood cell count (WBC) was elevated at 11.8."),
    ("laboratory", "Platelets were 250, within the reference range of 150-400."),
    ("medals", "Norway won 16 gold medals in 2022."),
    ("medals", "Norway won more gold medals in 2022 than in 2018."),
    ("medals", "Germany had a total of 27 medals in 2022."),
    ("medals", "In 2018, Norway and Germany tied for gold with 14 each."),
    ("medals", "Norway topped the table in both years."),
    ("medals", "Canada's total fell from 29 in 2018 to 26 in 2022."),
    ("medals", "Norway won 30 gold medals across the two games."),
    ("person", "Ada Lovelace was born on 10 December 1815."),
    ("person", "Ada Lovelace was a mathematician who had 3 children."),
    ("person", "She was born in 1815 and died in 1852."),
    ("dashboard", "Monthly active users grew from 47,200 in January 2024 to 52,100 in March 2024."),
    ("dashboard", "Monthly active users exceeded the target of 50,000 in March 2024."),
    ("dashboard", "The churn rate fell every month."),
    ("dashboard", "Support tickets dropped by 250 between January and March 2024."),
    ("election", "Maria Lopez of the Green Alliance won 41,200 votes, 38.4% of the total."),
    ("election", "John Reed finished second with 35,900 votes."),
    ("election", "Lopez beat Reed by 5,300 votes."),
    ("election", "The Green Alliance and the Liberal Party together hold 22 seats."),
    ("phones", "The Nova X is the most expensive at $899."),
    ("phones", "The Pixelon 3 costs $150 less than the Aero 5."),
    ("phones", "The Nova X has twice as much storage as the Aero 5."),
    ("phones", "The Nova X is heavier than the Pixelon 3."),
    ("phones", "The Pixelon 3 is not waterproof."),
    ("weather", "Friday was the warmest day with a high of 23 °C."),
    ("weather", "Wednesday was the wettest day, with 12.5 mm of rain."),
    ("weather", "It was sunny on Monday and Friday."),
    ("weather", "No rain fell on Monday."),
    ("weather", "The temperature on Thursday ranged from 8 to 18 °C."),
    ("league", "Arden Rovers top the table with 45 points, two points ahead of Kelso City."),
    ("league", "Halton Athletic are bottom of the table with just 13 points."),
    ("league", "Dunmore United lost 10 of their 20 matches."),
    ("league", "Port Vale sit third with 38 points."),
    ("models", "RoBERTa-base achieves the best SQuAD F1 of 91.5."),
    ("models", "RoBERTa-base outperforms BERT-base by 3.0 points on MNLI."),
    ("models", "ALBERT-base is the smallest model with only 12M parameters."),
    ("cities", "Berlin's population grew from 3,382,000 in 2000 to 3,664,000 in 2020."),
    ("cities", "Munich had about 1.49 million inhabitants in 2020."),
    ("cities", "Leipzig was the smallest city in every year."),
    ("films", "Red Meridian, directed by Tom Hale, grossed $310.8 million."),
    ("films", "Eva Lind directed two of the four films."),
    ("films", "The Last Ferry grossed less than its budget of $80 million."),
    ("films", "Paper Moons earned $36.4 million more than its budget."),
    ("films", "Red Meridian was the highest-grossing film of the four."),
    ("sales", "East had the highest total sales with 626 units."),
    ("sales", "Sales in the South fell from 98 in Q1 to 91 in Q2."),
    ("sales", "The East region outsold the North in every quarter."),
    ("sales", "Total sales reached 533 in Q4."),
    ("sales", "West sold fewer units than South in Q1."),
    ("energy", "Nuclear power accounts for 65.0% of electricity in France."),
    ("energy", "Wind is the largest source in Germany at 31.1%."),
    ("energy", "Spain generates more solar power than any other country."),
    ("energy", "Spain's share of gas was higher than that of Germany."),
    ("trial", "Drug A had a response rate of 44.1%, compared with 15.9% for placebo."),
    ("trial", "Median survival was 18.4 months with Drug A and 15.2 months with Drug B."),
    ("trial", "Serious adverse events were more frequent with Drug A (12) than with placebo (4)."),
    ("trial", "A total of 452 patients were enrolled across the three arms."),
    ("stock", "The stock closed at 185.6 on May 8, 2024."),
    ("stock", "Trading volume was highest on May 8, 2024, at 60.3 million."),
    ("stock", "The stock opened higher than it closed on May 7, 2024."),
    ("hotels", "Casa Verde has the highest rating (4.8)."),
    ("hotels", "Grand Palais is located in Lyon and costs $210 per night."),
    ("hotels", "The Anchor is the cheapest hotel at $95 per night."),
    ("hotels", "Two of the four hotels include breakfast."),
    ("museums", "City Gallery attracted the most visitors in 2023, with 131,500."),
    ("museums", "Attendance at Science Hall fell slightly from 98,700 in 2022 to 97,200 in 2023."),
    ("museums", "Maritime Museum had fewer visitors than Science Hall in every year."),
    ("matches", "The highest attendance was 18,204, for Lions against Bears."),
    ("staff", "Mei Chen earns the highest salary at $121,000."),
    ("staff", "Luis Ortega works in Chicago and joined in 2020."),
    ("staff", "Two employees work in Engineering."),
    ("staff", "Omar Said earns $10,900 more than Luis Ortega."),
    ("company", "Brightwell Energy was founded in 1998 and is headquartered in Oslo."),
    ("company", "The company employs 4,300 people and has revenue of $1.9 billion."),
    ("company", "Ingrid Berg is the CEO."),
    ("towns", "Trondheim's population increased by about 20% between 2010 and 2020."),
    ("towns", "Bergen's population grew from 256,580 in 2010 to 283,929 in 2020."),
    ("towns", "All four cities grew between 2010 and 2020."),
    ("towns", "Stavanger grew by 18,638 people between 2010 and 2020."),
    ("towns", "Stavanger covers 71 km2, the smallest area of the four."),
    ("staffing", "Sales shrank by 10% to 72 employees."),
    ("staffing", "Support added 6 people."),
    ("staffing", "Sales lost eight people."),
    ("gadgets", "Cirrus sold more than twice as many units as Bolt X."),
    ("gadgets", "Three of the four products are rated above 4."),
    ("weather", "Two days were sunny."),
    ("weather", "Monday and Friday were sunny."),
    ("weather", "Temperatures ranged from 8°C to 23°C."),
    ("weather", "Lows ranged from 8°C to 13°C."),
    ("weather", "The total rainfall was 17 mm."),
    ("league", "No team was unbeaten."),
    ("league", "Arden Rovers scored the most goals, 41."),
    ("league", "Kelso City conceded 20 goals."),
    ("league", "Dunmore United conceded 30 goals and scored 21."),
    ("league", "Halton Athletic lost the most games, 13."),
    ("league", "Kelso City drew more games than Arden Rovers."),
    ("league", "Arden Rovers scored three more goals than Kelso City."),
    ("league", "Kelso City won 13 matches, two more than Port Vale."),
    ("league", "Arden Rovers won the league with 45 points, two more than Kelso City."),
    ("league", "Halton Athletic conceded the most goals."),
    ("shops", "The South sold 850 laptops."),
    (
        "models",
        "RoBERTa-base has an MNLI accuracy of 87.6, but BERT-base has a lower SST-2 accuracy.",
    ),
    ("players", "Jokic had 28 points, but Curry has more points."),
    ("medals", "Norway won more gold medals in 2022 than in 2018."),
    ("towns", "Oslo's population rose to 693,494 in 2020."),
    ("staffing", "Sales fell to 72 employees in 2023."),
    ("energy", "Shares of coal ranged from 0.4% to 60.5%."),
    ("films", "Eva Lind was the director of Silent Harbor, which grossed $152.3 million."),
    ("weather", "Temperatures ranged from 12°C to 21°C on Monday."),
    ("towns", "Oslo added over 100,000 residents."),
    ("staffing", "Engineering grew from 120 to 150 people."),
    ("league", "Arden Rovers lost three matches but scored 41 goals."),
    ("league", "Port Vale have a better defence than Dunmore United."),
    ("panel", "Three of the five tests were abnormal."),
    ("panel", "Two of the five tests were within the normal range."),
    ("panel", "Two results were high and one was low."),
    ("panel", "Potassium was 5.6 mmol/L."),
    ("staffing", "Total headcount rose from 285 to 313."),
    ("gadgets", "Dyno sold fewer units than Aero 5."),
]

WRONG = [
    (
        "players",
        "Stephen Curry scored the most points with 31, ahead of LeBron James, who had 27 points.",
    ),
    ("players", "LeBron James led all players with 24 points."),
    ("players", "Jokic grabbed 14 rebounds for the Warriors."),
    ("players", "Two players scored more than 20 points."),
    ("players", "LeBron James and Anthony Davis combined for 45 points."),
    ("players", "Curry outscored Jokic by 5 points."),
    ("players", "Jokic outscored Curry."),
    ("players", "No player scored fewer than 20 points."),
    ("players", "LeBron James had the second most points."),
    ("players", "Michael Jordan scored 30 points."),
    ("players", "James had 24 rebounds and 8 points."),
    ("players", "Curry plays for the Lakers."),
    ("quarters", "Revenue rose from $120.5 million in Q1 2023 to $133.0 million in Q2 2023."),
    ("quarters", "Revenue rose in Q3 2023 to $128.4 million."),
    ("quarters", "Net income peaked in Q2 2023 at $15.0 million."),
    ("quarters", "The operating margin was 18% in Q4 2023."),
    ("quarters", "Revenue grew by 12% from Q1 to Q2 2023."),
    ("quarters", "Revenue increased every quarter."),
    ("quarters", "Net income was $15 million in Q1 2023."),
    ("quarters", "Net income in Q5 2023 was $20 million."),
    ("laboratory", "Hemoglobin was high at 10.2 g/dL."),
    ("laboratory", "Hemoglobin was 12.2 g/dL."),
    ("laboratory", "Platelets were above the reference range."),
    ("medals", "Norway won 14 gold medals in 2022."),
    ("medals", "Canada won more medals in 2022 than in 2018."),
    ("medals", "Canada's total fell from 31 in 2018 to 26 in 2022."),
    ("medals", "Sweden won 8 gold medals."),
    ("person", "Ada Lovelace was born on 12 December 1815."),
    ("person", "Ada Lovelace was a physicist."),
    ("person", "She was born in 1852."),
    ("dashboard", "Monthly active users exceeded the target in February 2024."),
    ("dashboard", "The churn rate rose every month."),
    ("dashboard", "Support tickets dropped by 350 between January and March 2024."),
    ("dashboard", "The net promoter score was 44 in January 2024."),
    ("election", "Maria Lopez of the Liberal Party won 41,200 votes."),
    ("election", "Anna Schmidt finished second with 22,100 votes."),
    ("election", "Lopez beat Reed by 6,300 votes."),
    ("election", "The Green Alliance and the Liberal Party together hold 24 seats."),
    ("phones", "The Aero 5 is the most expensive at $699."),
    ("phones", "The Pixelon 3 costs $200 less than the Aero 5."),
    ("phones", "The Aero 5 is heavier than the Nova X."),
    ("phones", "The Aero 5 is not waterproof."),
    ("weather", "Monday was the warmest day with a high of 21 °C."),
    ("weather", "It was sunny on Thursday."),
    ("weather", "No rain fell on Tuesday."),
    ("league", "Arden Rovers top the table with 45 points, four points ahead of Kelso City."),
    ("league", "Kelso City top the table with 43 points."),
    ("league", "Port Vale are bottom of the table."),
    ("league", "Port Vale sit fourth with 38 points."),
    ("models", "BERT-base achieves the best SQuAD F1 of 88.5."),
    ("models", "RoBERTa-base outperforms BERT-base by 4.0 points on MNLI."),
    ("models", "DistilBERT is the smallest model with only 66M parameters."),
    ("models", "ALBERT-base outperforms BERT-base on MNLI."),
    ("models", "GPT-2 reaches 90.1 on SQuAD."),
    ("cities", "Berlin's population grew from 3,461,000 in 2000 to 3,664,000 in 2020."),
    ("cities", "Hamburg was larger than Berlin in 2010."),
    ("cities", "Cologne had 1,083,000 inhabitants in 2020."),
    ("cities", "Leipzig's population fell between 2010 and 2020."),
    ("films", "Red Meridian, directed by Eva Lind, grossed $310.8 million."),
    ("films", "Silent Harbor was released in 2021."),
    ("films", "Ravi Menon directed two films."),
    ("films", "Paper Moons was the highest-grossing film of 2022."),
    ("sales", "North had the highest total sales with 533 units."),
    ("sales", "Sales in the South rose from 98 in Q1 to 91 in Q2."),
    ("sales", "The West region outsold the South in every quarter."),
    ("sales", "West sold fewer units than South in Q2."),
    ("energy", "Nuclear power accounts for 56.0% of electricity in France."),
    ("energy", "Coal is the largest source in Germany at 26.1%."),
    ("energy", "Poland's share of gas was higher than that of Germany."),
    ("trial", "Drug A had a response rate of 44.1%, compared with 34.9% for placebo."),
    ("trial", "Median survival was 15.2 months with Drug A and 18.4 months with Drug B."),
    ("trial", "A total of 462 patients were enrolled across the three arms."),
    ("stock", "The stock closed at 185.6 on May 9, 2024."),
    ("stock", "The stock opened higher than it closed on May 8, 2024."),
    ("hotels", "Grand Palais is located in Paris."),
    ("hotels", "Breakfast is included at Hotel Lumen."),
    ("hotels", "Casa Verde is the cheapest hotel at $140 per night."),
    ("hotels", "Three of the four hotels include breakfast."),
    ("museums", "Attendance at Science Hall rose slightly from 98,700 in 2022 to 97,200 in 2023."),
    ("museums", "All three museums drew more visitors in 2023 than in 2022."),
    ("staff", "Dana Fox works in Marketing."),
    ("staff", "Luis Ortega joined in 2018."),
    ("staff", "Three employees are based in Boston."),
    ("staff", "Omar Said earns $12,900 more than Luis Ortega."),
    ("company", "Brightwell Energy was founded in 1989."),
    ("company", "Brightwell Energy is headquartered in Bergen."),
    ("company", "The company has revenue of $2.9 billion."),
    ("towns", "Trondheim's population increased by about 35% between 2010 and 2020."),
    ("towns", "Stavanger shrank between 2010 and 2020."),
    ("towns", "All five cities grew between 2010 and 2020."),
    ("staffing", "All four departments grew between 2022 and 2023."),
    ("towns", "Stavanger grew by 28,638 people between 2010 and 2020."),
    ("staffing", "Sales grew by 10% in 2023."),
    ("staffing", "Support added 9 people."),
    ("staffing", "Sales lost six people."),
    ("gadgets", "Cirrus sold more than three times as many units as Bolt X."),
    ("gadgets", "Two products are rated above 4."),
    ("weather", "Four days were sunny."),
    ("weather", "Tuesday was sunny."),
    ("weather", "Monday and Tuesday were sunny."),
    ("weather", "Temperatures ranged from 9°C to 23°C."),
    ("weather", "The total rainfall was 27 mm."),
    ("league", "Arden Rovers were unbeaten."),
    ("league", "Arden Rovers scored the most goals, 45."),
    ("league", "Kelso City conceded 38 goals."),
    ("league", "Port Vale lost the most games."),
    ("league", "Kelso City drew more games than Port Vale."),
    ("league", "Kelso City won 13 matches, four more than Port Vale."),
    ("league", "Arden Rovers won the league with 45 points, five more than Kelso City."),
    ("league", "Kelso City scored the most goals."),
    ("league", "Arden Rovers conceded the most goals."),
    ("shops", "The South sold 850 tablets."),
    (
        "models",
        "RoBERTa-base has an MNLI accuracy of 87.6, but BERT-base has a higher SST-2 accuracy.",
    ),
    ("models", "DistilBERT has 66M parameters, the fewest of all models."),
    ("towns", "Oslo has 454 km2, the largest area of the four."),
    ("panel", "Two of the five tests were abnormal."),
    ("panel", "Three of the five tests were within the normal range."),
    ("panel", "Two results were high and two were low."),
    ("panel", "Potassium was 455 mmol/L."),
    ("staffing", "Total headcount rose from 285 to 333."),
    ("staffing", "Headcount grew in every department."),
    ("staffing", "Finance headcount rose to 25."),
    ("gadgets", "Dyno sold more units than Aero 5."),
]

OPEN = [
    ("league", "Arden Rovers conceded the fewest goals (18).", True),
    ("league", "Kelso City scored more goals than Arden Rovers.", False),
    ("energy", "Poland relies most heavily on coal, at 60.5%.", True),
    ("trial", "Drug A improved median survival by 7.4 months over placebo.", True),
    ("museums", "All three museums drew more visitors in 2022 than in 2021.", True),
    ("matches", "The Lions beat the Bears 2-1 on 3 March 2023.", True),
    ("matches", "The Bears beat the Lions 2-1 on 3 March 2023.", False),
    ("matches", "The Hawks and the Lions drew 0-0 in front of 15,377 fans.", True),
    ("staffing", "Headcount in Finance was unchanged between 2022 and 2023.", True),
    ("towns", "Oslo grew faster than Bergen between 2010 and 2020.", True),
    ("league", "Arden Rovers had a goal difference of 23.", True),
    ("staffing", "Engineering lost 8.5% of its staff.", True),
    ("staffing", "Support added 14 customers.", True),
    ("towns", "Oslo lost its lead in 2020.", True),
]
"""Not read yet; what counts is that no verdict on them is false."""

TEXTS = [
    (
        "players",
        "In this game, Stephen Curry led the way with 31 points, followed by Nikola Jokic "
        "with 28. Jokic also dominated the boards, pulling down 14 rebounds, two more "
        "than Anthony Davis. LeBron James added 24 points and 8 rebounds for the Lakers. "
        "Curry had just five rebounds, the fewest of the four players.",
    ),
    (
        "quarters",
        "The company ended 2023 on a strong note. Revenue reached $142.7 million in Q4, "
        "up 11.1% from the previous quarter and the highest of the year. Net income "
        "dipped to $9.8 million in Q3 before nearly doubling to $18.3 million. Operating "
        "margin followed a similar pattern, falling from 15.1% in Q2 to 11.9% in Q3 and "
        "recovering to 16.4% in Q4. Full-year revenue totaled $522.6 million.",
    ),
    (
        "laboratory",
        "The patient's hemoglobin was 10.2 g/dL, below the reference range of 12.0-15.5. "
        "The white cell count was slightly elevated at 11.8. Platelets were normal at "
        "250. Two of the three tests were abnormal.",
    ),
    (
        "medals",
        "Norway dominated both Games, winning 39 medals in 2018 and 37 in 2022. Germany "
        "finished second in 2018 with 31 medals, but its total dropped to 27 four years "
        "later. Canada's gold count fell sharply from 11 to 4. Norway and Germany each "
        "won 14 gold medals in 2018.",
    ),
    (
        "dashboard",
        "Monthly active users rose steadily during the quarter, from 47,200 in January to "
        "52,100 in March, surpassing the 50,000 target. Churn fell to 2.8% in March, "
        "below the 3.0% target. Support tickets declined each month, from 1,120 to 870. "
        "The net promoter score improved from 41 to 47.",
    ),
    (
        "election",
        "Maria Lopez won the election with 41,200 votes (38.4%), ahead of John Reed, who "
        "received 35,900 votes (33.5%). Anna Schmidt came third with 20.6% of the vote. "
        "Independent Peter Novak won a single seat. Together the top two candidates hold "
        "22 seats.",
    ),
    (
        "phones",
        "The Nova X has the largest battery at 5,000 mAh but is also the heaviest phone "
        "at 210 g. The Pixelon 3 is the cheapest option at $549 and the lightest at 172 "
        "g, although it is not waterproof. The Aero 5 sits in the middle at $699.",
    ),
    (
        "weather",
        "The week began sunny, with a high of 21 °C on Monday. Temperatures dropped to 16 "
        "°C on Wednesday, when 12.5 mm of rain fell. Friday was the warmest day of the "
        "week at 23 °C. Monday and Friday were dry.",
    ),
    (
        "league",
        "Arden Rovers lead the table with 45 points from 20 matches, two points clear of "
        "Kelso City. Port Vale are third with 38 points. Halton Athletic have won only "
        "three games and sit bottom with 13 points. Arden Rovers also have the best "
        "attack with 41 goals and the best defence, conceding just 18.",
    ),
    (
        "models",
        "RoBERTa-base obtains the best results on all three benchmarks, with 91.5 F1 on "
        "SQuAD, 87.6 on MNLI and 94.8 on SST-2. DistilBERT is 1.6 points behind BERT-base "
        "on SQuAD while using 40% fewer parameters. ALBERT-base is by far the smallest "
        "model, with 12 million parameters.",
    ),
    (
        "cities",
        "Berlin remained the largest city throughout, growing from 3.38 million in 2000 "
        "to 3.66 million in 2020. Munich grew by 278,000 people over the same period, an "
        "increase of about 23%. Leipzig was the smallest of the four cities but grew by "
        "22.7%.",
    ),
    (
        "films",
        "Red Meridian was the biggest hit, grossing $310.8 million on a budget of $120 "
        "million. Eva Lind directed two films, Silent Harbor and Paper Moons. The Last "
        "Ferry failed to recoup its $80 million budget. In 2022, Paper Moons earned $61.4 "
        "million.",
    ),
    (
        "sales",
        "East was the strongest region with total sales of 626, followed by North with "
        "533. South's sales fell in Q2 to 91 before recovering to 110 in Q4. Overall "
        "sales rose every quarter, from 448 to 533. West recorded the lowest total, at "
        "374.",
    ),
    (
        "energy",
        "France generates 65.0% of its electricity from nuclear, while Poland still "
        "depends on coal for 60.5%. Germany leads in wind with 31.1%, and Spain has the "
        "highest solar share at 16.9%. Poland has no nuclear power.",
    ),
    (
        "trial",
        "Drug A achieved a response rate of 44.1%, nearly three times that of placebo "
        "(15.9%). Median survival was 18.4 months in the Drug A arm versus 11.0 months "
        "for placebo. There were 12 serious adverse events with Drug A, 9 with Drug B and "
        "4 with placebo.",
    ),
    (
        "stock",
        "The stock gained ground over the four days, closing at 184.8 on May 9 after "
        "opening at 181.2 on May 6. The highest close was 185.6 on May 8, on volume of "
        "60.3 million shares. Volume was lowest on May 9.",
    ),
    (
        "hotels",
        "Casa Verde in Seville is the best-rated hotel at 4.8, though it has just 22 "
        "rooms. Grand Palais in Lyon is the most expensive at $210 per night and the "
        "largest with 120 rooms. The Anchor in Bristol is the cheapest. Breakfast is "
        "included at Grand Palais and Casa Verde.",
    ),
    (
        "museums",
        "City Gallery was the most visited museum in all three years, reaching 131,500 "
        "visitors in 2023. Science Hall peaked at 98,700 visitors in 2022. Maritime "
        "Museum nearly doubled its attendance between 2021 and 2023, from 21,300 to "
        "40,100.",
    ),
    (
        "staff",
        "Mei Chen, who joined in 2015, is the longest-serving employee and earns "
        "$121,000. Dana Fox also works in Engineering in Boston. Luis Ortega is the "
        "lowest paid, with a salary of $72,500. Omar Said joined the Finance team in "
        "2021.",
    ),
    (
        "company",
        "Founded in 1998, Brightwell Energy is based in Oslo, Norway. The company is led "
        "by CEO Ingrid Berg and has 4,300 employees. Its revenue is $1.9 billion.",
    ),
    (
        "person",
        "Ada Lovelace (10 December 1815 - 27 November 1852) was a mathematician. She had "
        "three children. She died at the age of 36.",
    ),
]
"""Summaries without an error."""


def _verdicts(table: str, sentence: str) -> list[str]:
    header, *rows = (tuple(line.split("|")) for line in TABLES[table])
    source = Source((Table.of(header, rows),))
    return [v.verdict for v in verify_document(extract_claims(sentence), source)]


@pytest.mark.parametrize(("table", "sentence"), SUPPORTED)
def test_a_true_sentence_is_supported(table: str, sentence: str) -> None:
    verdicts = _verdicts(table, sentence)
    assert verdicts
    assert set(verdicts) == {"supported"}


@pytest.mark.parametrize(("table", "sentence"), WRONG)
def test_a_false_sentence_is_found(table: str, sentence: str) -> None:
    assert {"contradicted", "not_in_source"} & set(_verdicts(table, sentence))


@pytest.mark.parametrize(("table", "sentence", "true"), OPEN)
def test_what_is_not_read_gets_no_false_verdict(table: str, sentence: str, true: bool) -> None:
    verdicts = set(_verdicts(table, sentence))
    assert not (true and {"contradicted", "not_in_source"} & verdicts)
    assert true or verdicts != {"supported"}


@pytest.mark.parametrize(("table", "text"), TEXTS)
def test_a_true_summary_has_no_false_alarm(table: str, text: str) -> None:
    verdicts = _verdicts(table, text)
    assert "supported" in verdicts
    assert not {"contradicted", "not_in_source"} & set(verdicts)
