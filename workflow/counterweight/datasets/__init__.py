"""Stage 1: data sets, their download, their twins, their typed tables."""

DATASETS = {
    "adult": "counterweight.datasets.adult:Adult",
    "ca_housing": "counterweight.datasets.ca_housing:CaHousing",
    "bank_marketing": "counterweight.datasets.bank_marketing:BankMarketing",
    "open_bandit": "counterweight.datasets.open_bandit:OpenBandit",
    "a9a": "counterweight.datasets.a9a:A9a",
    "natural_park": "counterweight.datasets.natural_park:NaturalPark",
    "kakadu": "counterweight.datasets.kakadu:Kakadu",
    "own_table": "counterweight.datasets.own_table:OwnTable",
    "curved": "counterweight.datasets.simulated:Curved",
    "straight": "counterweight.datasets.simulated:Straight",
    "rare_clicks": "counterweight.datasets.rare_clicks:RareClicks",
    "logged_clicks": "counterweight.datasets.logged_clicks:LoggedClicks",
    "three_segments": "counterweight.datasets.segments:ThreeSegments",
    "eighteen_segments": "counterweight.datasets.segments:EighteenSegments",
    "admissions": "counterweight.datasets.admissions:Admissions",
}
