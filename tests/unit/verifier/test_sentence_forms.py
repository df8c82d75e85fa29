"""Ways of saying what a table has: none that is true is called wrong, most that are false are.

The first pair of a kind is the form as it was reported; the others are siblings of it.
"""

from __future__ import annotations

import pytest

import tablemend
from tablemend.claims.extract import extract_claims
from tablemend.evidence.source import Source
from tablemend.tables.csvtable import read_csv
from tablemend.verifier.program import verify_document

REGIONS = "Region,Q1,Q2,Q3\nNorth,10,12,15\nSouth,20,18,18\nEast,30,33,27\nWest,7,9,14\n"
YEARS = "Plant,2021,2022,2023\nAarau,410,455,430\nBern,300,290,330\nChur,120,150,165\n"
LAB = (
    "Test,Result,Unit\nGlucose,142,mg/dL\nSodium,138,mmol/L\nPotassium,4.1,mmol/L\n"
    "Creatinine,0.9,mg/dL\n"
)
POWER = (
    "Country,Electricity 2022 (TWh),Electricity 2023 (TWh),Population (m)\n"
    "Norway,60.2,62.1,5.4\nSweden,75.2,80.5,10.5\n"
)
BOOKS = (
    "Line item,FY2023,FY2024\nRevenue,1204.5,1318.2\nCost of revenue,(702.1),(745.9)\n"
    "Operating expenses,(398.0),(451.7)\nNet income (loss),(12.3),45.8\n"
)
PHONES = (
    "Model,Screen (in),Battery (mAh),5G,Price ($)\nAlba,6.1,4200,Yes,699\nBoreal,6.4,4500,No,349\n"
    "Cirrus,6.7,5000,Yes,899\nNimbus,6.5,5200,Yes,549\n"
)
HOTELS = "Hotel,Rooms,Pool,Parking,Rating\nAsta,40,✓,✓,4.1\nBravo,120,✗,✓,3.9\nCeres,75,✓,✗,4.6\n"
CLIENTS = "Customer,Orders,Region\nAcme,12,North\nBolt,30,South\nCore,7,North\n"
STAFF = "Department,Employees,Budget\nOps,6,100\nSales,12,50\nHR,4,20\n"
QUARTERS = "Quarter,Profit,Margin (%)\nQ1,4,2.1\nQ2,-3,-1.5\nQ3,5,3.0\nQ4,6,3.3\n"

PAIRS = [
    (REGIONS, "North gained 2 from Q1 to Q2.", "North gained 4 from Q1 to Q2."),
    (REGIONS, "West added 5 in Q3.", "West added 8 in Q3."),
    (REGIONS, "East lost 6 between Q2 and Q3.", "East lost 9 between Q2 and Q3."),
    (YEARS, "Aarau gained 45 from 2021 to 2022.", "Aarau gained 54 from 2021 to 2022."),
    (YEARS, "Bern lost 10 between 2021 and 2022.", "Bern lost 30 between 2021 and 2022."),
    (YEARS, "Chur added 15 in 2023.", "Chur added 51 in 2023."),
    (
        BOOKS,
        "Operating expenses were $451.7 million, up from $398.0 million in FY2023.",
        "Operating expenses were $415.7 million, up from $398.0 million in FY2023.",
    ),
    (
        BOOKS,
        "Revenue was $1,318.2 million, up from $1,204.5 million in FY2023.",
        "Revenue was $1,381.2 million, up from $1,204.5 million in FY2023.",
    ),
    (REGIONS, "Three of the four regions rose in Q2.", "Two of the four regions rose in Q2."),
    (REGIONS, "Only East fell in Q3.", "Only South fell in Q3."),
    (YEARS, "All plants grew in 2023 except Aarau.", "All plants grew in 2023."),
    (YEARS, "Two of the three plants grew in 2022.", "All three plants grew in 2022."),
    (REGIONS, "East never fell below 27.", "East never fell below 30."),
    (REGIONS, "West never exceeded 14.", "West never exceeded 9."),
    (REGIONS, "South never dropped below 18.", "North never dropped below 12."),
    (YEARS, "Chur never rose above 165.", "Chur never rose above 150."),
    (LAB, "Glucose was 142 mg/dL.", "Glucose was 124 mg/dL."),
    (LAB, "Sodium came back at 138.", "Sodium came back at 183."),
    (LAB, "Creatinine was 0.9.", "Creatinine was 0.6."),
    (POWER, "Norway generated 62.1 TWh in 2023.", "Norway generated 60.2 TWh in 2023."),
    (PHONES, "The Boreal is available for $349.", "The Boreal is available for $394."),
    (
        PHONES,
        "The Cirrus has the largest screen and the highest price.",
        "The Nimbus has the largest screen and the biggest battery.",
    ),
    (
        PHONES,
        "The Nimbus has the biggest battery and the Cirrus the largest screen.",
        "The Nimbus has the biggest battery and the Alba the largest screen.",
    ),
    (
        HOTELS,
        "Ceres has the highest rating and Bravo the most rooms.",
        "Ceres has the highest rating and the most rooms.",
    ),
    (
        PHONES,
        "The Cirrus is the most expensive and the Boreal the cheapest.",
        "The Nimbus is the most expensive and the Boreal the cheapest.",
    ),
    (
        PHONES,
        "The Alba, Cirrus and Nimbus support 5G.",
        "The Alba, Boreal and Nimbus support 5G.",
    ),
    (PHONES, "All phones cost less than $900.", "All phones support 5G."),
    (PHONES, "Three of the four phones support 5G.", "Two of the four phones support 5G."),
    (PHONES, "The Boreal lacks 5G.", "The Alba lacks 5G."),
    (PHONES, "The Boreal does not support 5G.", "All four phones support 5G."),
    (HOTELS, "Asta and Ceres have a pool.", "Asta and Bravo have a pool."),
    (HOTELS, "Bravo is without a pool.", "Asta is without a pool."),
    (HOTELS, "Two of the three hotels offer parking.", "All hotels offer parking."),
    (CLIENTS, "Bolt was the top customer by orders.", "Acme was the top customer by orders."),
    (QUARTERS, "Profit was negative in Q2.", "Profit was positive in all four quarters."),
    (QUARTERS, "Profit was positive in three of the four quarters.", "Profit was positive in Q2."),
    (QUARTERS, "The margin was negative in Q2.", "The margin was positive in every quarter."),
]


@pytest.mark.parametrize(("table", "right", "wrong"), PAIRS, ids=[pair[1][:40] for pair in PAIRS])
def test_a_form_is_read(table: str, right: str, wrong: str) -> None:
    assert not tablemend.verify(right, table).errors
    assert tablemend.verify(wrong, table).errors


@pytest.mark.parametrize(
    ("table", "text", "word"),
    [
        (CLIENTS, "Bolt was the top customer by revenue.", "top"),
        (CLIENTS, "Bolt was the largest customer by sales volume.", "largest"),
        (STAFF, "Ops shrank, losing six employees.", "six"),
        (STAFF, "Ops shed six employees.", "six"),
        (STAFF, "HR had to cut four employees.", "four"),
        (PHONES, "Two of the four phones support eSIM.", "Two"),
        (REGIONS, "All four regions have a manager.", "All"),
    ],
)
def test_a_reading_that_passes_over_the_sentence_supports_nothing(
    table: str, text: str, word: str
) -> None:
    document = extract_claims(text)
    verdicts = verify_document(document, Source((read_csv(table),)))
    (said,) = [v for v in verdicts if v.claim.focus and text[slice(*v.claim.focus)] == word]
    assert said.verdict != "supported"


def test_a_tie_has_no_opposite() -> None:
    (error,) = [
        one for one in tablemend.verify("South fell in Q3.", REGIONS).errors if one.word == "fell"
    ]
    assert error.expected == ()
