"""Checks the alerts and the dashboard of an operator with webhooks: WORK has the PrometheusRule and the ConfigMap of `versions` as JSON, and
metrics pages.

Usage: check.py WORK PROMTOOL
"""

import json
import pathlib
import re
import subprocess
import sys

work, promtool = sys.argv[1:]
work = pathlib.Path(work)

# Prometheus makes it of each scrape
SYNTHETIC = {"up"}
NAME = re.compile(r"(?<![\w$\"])([a-z_][a-z0-9_]*)\s*\{")


def run(*command, cwd=None):
    done = subprocess.run([str(it) for it in command], cwd=cwd, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


metrics = set(SYNTHETIC)
for page in work.glob("*.metrics"):
    for line in page.read_text().splitlines():
        if not line.startswith("#"):
            metrics.add(re.match(r"[a-zA-Z_:][\w:]*", line).group())
        elif line.startswith("# TYPE"):
            # a family without a sample yet: what its samples are called
            _, _, name, kind = line.split()
            metrics |= {f"{name}_total"} if kind == "counter" else {f"{name}_bucket", f"{name}_count", f"{name}_sum"} if kind == "histogram" else {name}

spec = json.loads((work / "rule.json").read_text())["spec"]
(board,) = json.loads((work / "dashboard.json").read_text())["data"].values()
alerts = [rule for group in spec["groups"] for rule in group["rules"]]
targets = [target for panel in json.loads(board)["panels"] for target in panel["targets"]]
queries = [it["expr"] for it in alerts + targets]
assert len(queries) > 20, queries
for query in queries:
    names = NAME.findall(query)
    assert names, query
    for name in names:
        if name not in metrics:
            sys.exit(f"FAILED: {name} is on no metrics page: {query}")

rules = work / "rules.json"
rules.write_text(json.dumps(spec))
run(promtool, "check", "rules", rules)

job = 'job="versions"'
CASES = [
    # an alert, series with their values each minute, and when it fires
    ("OperatorDown", {f"up{{{job}}}": "1x20 " + "0 0 1 " * 10}, 50, 25),
    ("OperatorWithoutLeader", {f"leader_election_master_status{{{job}}}": "1x10 0x30", f"operator_paused{{{job}}}": "0x40"}, 20, 5),
    ("OperatorWithoutLeader", {f"leader_election_master_status{{{job}}}": "0x90", f"operator_paused{{{job}}}": "0 1x90"}, 75, 50),
    ("OperatorObjectsFail", {f'operator_undecodable_objects{{{job}, controller="printer"}}': "0x5 3x60"}, 45, 20),
    ("OperatorReconciliationHangs", {f'workqueue_longest_running_processor_seconds{{{job}, controller="printer"}}': "0+60x60"}, 30, 10),
    ("OperatorCannotWatch", {f'operator_watch_errors_total{{{job}, controller="printer", group="", kind="Pod"}}': "0x5 1+1x60"}, 40, 5),
    # healed before: the last errors are of minute 8
    ("OperatorCannotWatch", {f'operator_watch_errors_total{{{job}, controller="printer", group="", kind="Pod"}}': "0x5 3 6 9 9x20 9+1x40"}, 55, 25),
    ("OperatorWebhookFails", {f'operator_webhook_failures_total{{{job}, webhook="/validate"}}': "0x5 1+1x60"}, 30, 4),
    ("OperatorWebhookFails", {f"operator_webhook_certificate_expiry_seconds{{{job}}}": "0x60"}, 15, 5),
    ("OperatorCertificateExpires", {f"operator_webhook_certificate_expiry_seconds{{{job}}}": "3600x90"}, 70, 30),
]
tests = []
for alert, series, fires, silent in CASES:
    series = [{"series": name, "values": values} for name, values in series.items()]
    tests.append({
        "interval": "1m",
        "input_series": series,
        "promql_expr_test": [
            {"expr": f'count(ALERTS{{alertname="{alert}", alertstate="firing"}}) or vector(0)', "eval_time": f"{minute}m", "exp_samples": [{"labels": "{}", "value": value}]}
            for minute, value in ((silent, 0), (fires, 1))
        ],
    })
assert {it["alert"] for it in alerts} == {name for name, *_ in CASES}, "each alert has a case"
test = work / "rules-test.yaml"
test.write_text(json.dumps({"rule_files": [str(rules)], "evaluation_interval": "1m", "tests": tests}))
run(promtool, "test", "rules", test)
print(f"passed: {len(queries)} queries, {len(alerts)} alerts, {len(CASES)} cases")
