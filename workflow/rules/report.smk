rule report:
    input: measurements()
    output: f"{RESULTS}/report.html"
    shell: "touch {output}"
def report_what_is_there(): pass
