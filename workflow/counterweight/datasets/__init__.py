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
    "curved": "counterweight.datasets.generated.simulated:Curved",
    "straight": "counterweight.datasets.generated.simulated:Straight",
    "screening": "counterweight.datasets.generated.screening:Screening",
    "rare_clicks": "counterweight.datasets.generated.rare_clicks:RareClicks",
    "logged_clicks": "counterweight.datasets.generated.logged_clicks:LoggedClicks",
    "three_segments": "counterweight.datasets.generated.segments:ThreeSegments",
    "eighteen_segments": "counterweight.datasets.generated.segments:EighteenSegments",
    "admissions": "counterweight.datasets.generated.admissions:Admissions",
    "smooth_admissions": "counterweight.datasets.generated.admissions:SmoothAdmissions",
}
