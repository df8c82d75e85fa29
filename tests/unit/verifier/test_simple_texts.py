"""Short texts over small tables: what is true is not called wrong, and the other way round."""

from __future__ import annotations

import pytest

from tablemend.api import mend, verify

STAFF = """Name,Department,Salary,Age,Start date,City
Anna Schmidt,Engineering,82000,34,2019-03-01,Berlin
Bob Miller,Sales,61000,45,2015-07-15,Hamburg
Carla Rossi,Engineering,91000,39,2017-01-10,Munich
David Chen,Marketing,58000,29,2021-09-01,Berlin
Eva Novak,Sales,64000,51,2010-05-20,Cologne
"""
REGIONS = """Region,Product,Units,Revenue (USD)
North,Widget,"1,200","$48,000"
South,Widget,950,"$38,000"
East,Gadget,"2,310","$115,500"
West,Gadget,"1,780","$89,000"
Central,Gizmo,,"$12,300"
"""
QUARTERS = """Quarter,Revenue (€m),Margin,Customers
Q1 2023,10.5,12.0%,1500
Q2 2023,11.2,11.5%,1620
Q3 2023,9.8,10.1%,1580
Q4 2023,13.4,14.2%,1750
Total,44.9,,
"""
MODELS = """Model,Accuracy,F1,Latency (ms),Params
BERT-base,84.2,82.1,12,110M
BERT-large,86.5,84.9,31,340M
GPT-2,79.3,77.0,45,1.5B
T5-small,81.0,79.8,9,60M
"""
CITIES = """City,Country,Population,Mayor
Paris,France,2102650,Anne Hidalgo
Lyon,France,522250,Grégory Doucet
Berlin,Germany,3755251,Kai Wegner
Munich,Germany,1512491,Dieter Reiter
Rome,Italy,2748109,Roberto Gualtieri
"""
LEAGUE = """Team,Wins,Points
Alba,12,41
Sella,11,37
Vey,3,12
"""
ACCOUNTS = """($ in millions),2023,2022,2021
Revenue,"1,250.4","1,180.2","1,045.9"
Cost of sales,(810.2),(790.5),(702.3)
Gross profit,440.2,389.7,343.6
Operating expenses,(300.1),(410.0),(290.4)
Operating income,140.1,(20.3),53.2
"""


def is_left_alone(text: str, table: str) -> bool:
    """Whether nothing is called wrong, and nothing changed."""
    return not verify(text, table).errors and mend(text, table).text == text


@pytest.mark.parametrize(
    ("table", "text"),
    [
        (REGIONS, "The top two regions had total revenue of $204,500."),
        (REGIONS, "The first three regions had total revenue of $201,500."),
        (REGIONS, "The coastal regions generated total revenue of $204,500."),
        (REGIONS, "Average revenue of the top three regions was $84,167."),
        (QUARTERS, "Total revenue in the first half was €21.7m."),
        (QUARTERS, "Second-half revenue totalled €23.2m."),
        (STAFF, "The two engineers earn 173,000 in total."),
        (STAFF, "The two salespeople earn a total of 125,000."),
        (STAFF, "The men earn 119,000 in total."),
        (STAFF, "The total salary of the over-40s is 125,000."),
        (STAFF, "The three women earn an average of 79,000."),
        (LEAGUE, "The other two teams have a total of 49 points."),
        (LEAGUE, "The top two won 78 points in total."),
        (CITIES, "The total population of the two largest cities is 6,503,360."),
        (ACCOUNTS, "Total costs in 2023 were $1,110.3 million."),
    ],
)
def test_a_total_of_rows_that_are_not_all_is_none_of_all(table: str, text: str) -> None:
    assert is_left_alone(text, table)


@pytest.mark.parametrize(
    ("table", "text", "right"),
    [
        (REGIONS, "Total revenue was $312,800.", "$302,800"),
        (STAFF, "The sales team earns 135,000 in total.", "125,000"),
        (LEAGUE, "The three teams have 95 points in total.", "90"),
    ],
)
def test_a_total_of_all_rows_is_mended(table: str, text: str, right: str) -> None:
    assert right in mend(text, table).text


@pytest.mark.parametrize(
    ("table", "text"),
    [
        (STAFF, "Both engineers earn more than 80,000."),
        (STAFF, "All engineers earn more than 80,000."),
        (MODELS, "There are two BERT models."),
        (MODELS, "There are two encoder models."),
        (CITIES, "Three cities are capitals."),
    ],
)
def test_a_count_of_a_group_that_was_not_read_is_not_wrong(table: str, text: str) -> None:
    assert is_left_alone(text, table)


@pytest.mark.parametrize(
    "text",
    [
        "Operating expenses were -300.1 in 2023.",
        "Cost of sales was -810.2 in 2023.",
        "Operating expenses were 300.1 in 2023.",
        "Operating expenses were -$300.1 million in 2023.",
    ],
)
def test_both_signs_of_a_cost_in_brackets_agree(text: str) -> None:
    assert verify(text, ACCOUNTS).score == 1
    assert is_left_alone(text, ACCOUNTS)


def test_a_sign_alone_is_never_mended() -> None:
    text = "Gross profit was -440.2 in 2023."
    assert verify(text, ACCOUNTS).errors
    assert mend(text, ACCOUNTS).text == text


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("T5-small is the fastest model at 9 ms.", True),
        ("BERT-base (12 ms) is faster than BERT-large (31 ms).", True),
        ("GPT-2 is the fastest model.", False),
        ("BERT-large is faster than BERT-base.", False),
    ],
)
def test_the_fastest_has_the_shortest_latency(text: str, holds: bool) -> None:
    assert (not verify(text, MODELS).errors) is holds
    assert verify(text, MODELS).score is not None


@pytest.mark.parametrize(
    "text",
    [
        "BERT-base, with 110M parameters, is smaller than GPT-2.",
        "T5-small, with only 60M parameters, beats GPT-2 on accuracy.",
    ],
)
def test_a_capital_m_behind_digits_is_a_million(text: str) -> None:
    assert is_left_alone(text, MODELS)


def test_a_reason_has_dates_as_the_table_writes_them() -> None:
    (found,) = verify("Eva joined after Bob.", STAFF).errors
    assert "2010-05-20" in found.reason
    assert "2015-07-15" in found.reason


@pytest.mark.parametrize(
    ("table", "text"),
    [
        (STAFF, "Bob Miller works in Engineering and Carla Rossi works in Sales."),
        (STAFF, "Anna Schmidt lives in Munich; Carla Rossi lives in Berlin."),
        (STAFF, "Anna Schmidt lives in Munich, and Carla Rossi lives in Berlin."),
        (STAFF, "Anna Schmidt lives in Munich while Carla Rossi lives in Berlin."),
        (CITIES, "Paris is in Germany and Berlin is in France."),
        (CITIES, "Berlin is in Germany, Paris in Italy."),
        (CITIES, "Lyon's mayor is Anne Hidalgo and Paris's mayor is Grégory Doucet."),
    ],
)
def test_each_clause_speaks_of_its_own_row(table: str, text: str) -> None:
    assert verify(text, table).errors
    assert mend(text, table).text == text


@pytest.mark.parametrize(
    ("table", "text"),
    [
        (STAFF, "Bob Miller works in Sales and Carla Rossi works in Engineering."),
        (STAFF, "Anna Schmidt lives in Berlin; Carla Rossi lives in Munich."),
        (STAFF, "Anna and David both live in Berlin."),
        (CITIES, "Paris is in France, Berlin in Germany and Rome in Italy."),
        (STAFF, "Bob Miller and Anna Schmidt live in Hamburg and Berlin respectively."),
        (ACCOUNTS, "Revenue for 2022 and 2021 was 1,180.2 and 1,045.9, respectively."),
        (REGIONS, "East (2,310 units) outsold West (1,780 units)."),
        (LEAGUE, "Alba (12 wins) beat Sella (11 wins)."),
        (MODELS, "BERT-large achieves the best accuracy (86.5) and F1 (84.9)."),
    ],
)
def test_what_is_paired_rightly_is_not_wrong(table: str, text: str) -> None:
    assert is_left_alone(text, table)


def test_respectively_pairs_in_order() -> None:
    text = "Anna Schmidt and Bob Miller live in Hamburg and Berlin respectively."
    assert verify(text, STAFF).score != 1
    text = "Revenue for 2022 and 2021 was $1,045.9 million and $1,180.2 million, respectively."
    assert verify(text, ACCOUNTS).errors
    assert mend(text, ACCOUNTS).text == text


@pytest.mark.parametrize(
    ("table", "text"),
    [
        (REGIONS, "East (1,780 units) outsold West (2,310 units)."),
        (LEAGUE, "Alba (11 wins) beat Sella (12 wins)."),
        (LEAGUE, "Alba (37 points) finished ahead of Sella (41)."),
        (MODELS, "BERT-large achieves the best accuracy (84.9) and F1 (86.5)."),
    ],
)
def test_a_number_in_brackets_is_of_the_name_before_it(table: str, text: str) -> None:
    assert verify(text, table).errors
    assert mend(text, table).text == text


@pytest.mark.parametrize(
    "text",
    [
        "Revenue was $1,250.4 million, compared with $1,180.2 million in 2022.",
        "Revenue was $1,250.4 million, compared to $1,180.2 million in 2022.",
        "Gross profit was $440.2 million, against $389.7 million in 2022.",
        "Gross profit was $440.2 million versus $389.7 million in 2022.",
        "Operating income was $140.1 million, compared with a loss of $20.3 million in 2022.",
        "Operating income was $140.1 million in 2023, compared with a loss of 20.3 in 2022.",
    ],
)
def test_a_comparison_keeps_its_period(text: str) -> None:
    assert verify(text, ACCOUNTS).score == 1
    assert is_left_alone(text, ACCOUNTS)
    wrong = text.replace("$389.7", "$379.7").replace("$1,180.2", "$1,190.2").replace("20.3", "30.3")
    assert verify(wrong, ACCOUNTS).errors


@pytest.mark.parametrize(
    ("table", "text"),
    [
        (REGIONS, "The best-selling product was the Gadget, with 4,090 units."),
        (LEAGUE, "The gap between Alba and Sella was 4 points."),
        (ACCOUNTS, "Gross profit margin rose to 35.2% from 33.0%."),
        (QUARTERS, "Margin fell from 12.0% in Q1 to 10.1% in Q3 before recovering to 14.2% in Q4."),
        (REGIONS, "East's revenue was more than double North's."),
        (STAFF, "Anna (34) is five years younger than Carla (39)."),
        (STAFF, "There are 5 employees across 3 departments."),
        (MODELS, "GPT-2 has the most parameters, and BERT-large has the highest accuracy."),
    ],
)
def test_what_is_true_is_not_called_wrong(table: str, text: str) -> None:
    assert is_left_alone(text, table)


@pytest.mark.parametrize(
    ("table", "text"),
    [
        (REGIONS, "East's revenue was more than triple North's."),
        (STAFF, "Anna (34) is six years younger than Carla (39)."),
        (STAFF, "There are 5 employees across 4 departments."),
        (MODELS, "Despite having the most parameters, BERT-large has the highest accuracy."),
    ],
)
def test_what_is_wrong_does_not_pass(table: str, text: str) -> None:
    assert verify(text, table).errors
