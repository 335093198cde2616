"""Stage 1: data sets, their download, their twins, their typed tables."""

DATASETS = {
    "adult": "counterweight.datasets.adult:Adult",
    "ca_housing": "counterweight.datasets.ca_housing:CaHousing",
    "bank_marketing": "counterweight.datasets.bank_marketing:BankMarketing",
    "open_bandit": "counterweight.datasets.open_bandit:OpenBandit",
    "a9a": "counterweight.datasets.a9a:A9a",
    "natural_park": "counterweight.datasets.natural_park:NaturalPark",
    "kakadu": "counterweight.datasets.kakadu:Kakadu",
    "own_table": "counterweight.datasets.own_table:read_typed",
    "curved": "counterweight.datasets.simulated_points:Curved",
    "straight": "counterweight.datasets.simulated_points:Straight",
    "screening": "counterweight.datasets.simulated_points:Screening",
    "rare_clicks": "counterweight.datasets.simulated_points:RareClicks",
    "logged_clicks": "counterweight.datasets.logged_clicks:LoggedClicks",
    "three_segments": "counterweight.datasets.simulated_offers:ThreeSegments",
    "eighteen_segments": "counterweight.datasets.simulated_offers:EighteenSegments",
    "admissions": "counterweight.datasets.simulated_offers:Admissions",
    "smooth_admissions": "counterweight.datasets.simulated_offers:SmoothAdmissions",
}
