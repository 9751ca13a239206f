# SPDX-License-Identifier: MIT
"""The files that `mrrope ladder` writes, as those who read them would: no cluster, no container and no gateway is started.

    $(tools/engine_env schemas) tests/deploy/ladder_files_test.py FOLDER…      folders that mrrope ladder -o wrote

| file | checked by | not checked |
|---|---|---|
| */kubernetes.yaml | JSON schemas of Kubernetes 1.25 and 1.37, strict (kubernetes-validate); names, labels and references here | an API server |
| */compose.yaml | JSON schema of Compose (check-jsonschema); references here | docker compose |
| */*.service | systemd-analyze verify | systemd |
| gateway/vllm-sr.yaml | `vllm-sr config validate` and its reader of token counts, 0.4.0 | the router |
| gateway/llm-d.yaml | its source at 520af478 (2026-05-17), written again here: keys, references, ranges, filter, scores | the endpoint picker |
"""
import contextlib
import copy
import io
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import check_jsonschema
import jsonschema
import kubernetes_validate
import yaml
from cli.commands.validate import validate_command  # of vllm-sr, as is the next
from cli.context_bands import parse_token_count

FOLDERS = [pathlib.Path(word).resolve() for word in sys.argv[1:]]
sys.argv = sys.argv[:1]
BORDERS = 3  # tokens on both sides of a border
LABEL = re.compile(r"(([A-Za-z0-9][-A-Za-z0-9_.]{0,61})?[A-Za-z0-9])?")
KEY = re.compile(r"([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
COMPOSE = json.loads((pathlib.Path(check_jsonschema.__file__).parent / "builtin_schemas/vendor/compose-spec.json").read_text())


def kubernetes_problems(documents, versions=("1.37",)):
    problems = []
    pods = [d["spec"]["template"] for d in documents if d["kind"] == "Deployment"]
    for document in documents:
        for version in versions:
            try:
                kubernetes_validate.validate(document, version, strict=True)
            except kubernetes_validate.ValidationError as error:
                problems.append(f"{document['metadata']['name']} {version}: {error.message}")
        if not NAME.fullmatch(document["metadata"]["name"]):
            problems.append(f"name {document['metadata']['name']}")
        wanted = document["spec"].get("selector", {})
        wanted = wanted.get("matchLabels", wanted)
        chosen = [pod for pod in pods if wanted.items() <= pod["metadata"]["labels"].items()]
        if len(chosen) != 1:
            problems.append(f"{document['kind']} {document['metadata']['name']} selects {len(chosen)} kinds of pods")
        for port in document["spec"].get("ports", []):
            names = [p["name"] for pod in chosen for c in pod["spec"]["containers"] for p in c["ports"]]
            if port["targetPort"] not in names:
                problems.append(f"no port {port['targetPort']}")
    for pod in pods:
        problems += [f"label {item}" for item in pod["metadata"]["labels"].items()
                     if not KEY.fullmatch(item[0]) or not LABEL.fullmatch(item[1])]
        volumes = {volume["name"] for volume in pod["spec"].get("volumes", [])}
        for container in pod["spec"]["containers"]:
            problems += [f"no volume {m['name']}" for m in container.get("volumeMounts", []) if m["name"] not in volumes]
            problems += [f"$(…) would be replaced: {word}" for word in container.get("command", []) + container.get("args", [])
                         if re.search(r"(?<!\$)\$\(", word)]
    return problems


def compose_problems(document):
    reader = jsonschema.validators.validator_for(COMPOSE)  # an older draft would take unknown keys
    problems = [error.message for error in reader(COMPOSE).iter_errors(document)]
    services = document.get("services", {})
    published = [str(port).split(":")[-2] for service in services.values() for port in service.get("ports", [])]
    if len(set(published)) != len(published):
        problems.append(f"ports {published}")
    for name, service in services.items():
        for needed, how in service.get("depends_on", {}).items():
            if "healthcheck" not in services.get(needed, {}) and how["condition"] == "service_healthy":
                problems.append(f"{name} waits for the health of {needed}")
        problems += [f"{word} would be replaced" for word in service.get("command", []) if re.search(r"\$", word.replace("$$", ""))]
    return problems


def systemd_problems(units):
    """What systemd-analyze says: it ends well whatever it found."""
    with tempfile.TemporaryDirectory() as folder:
        copies = [shutil.copy(unit, folder) for unit in units]
        done = subprocess.run(["systemd-analyze", "verify", "--man=no", "--recursive-errors=no", *copies], capture_output=True, text=True,
                              check=False)
    return (done.stdout + done.stderr).splitlines()


def vllm_sr_problems(text):
    """What `vllm-sr config validate` says, which ends the process where it finds something."""
    said = io.StringIO()
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        file = pathlib.Path(folder) / "config.yaml"
        file.write_text(text)
        try:
            validate_command(str(file))
        except SystemExit:
            return [said.getvalue()]
    return []


def vllm_sr_port(document, tokens):
    """The port that a request of so many tokens goes to, by vllm-sr's own reader of the bands."""
    bands = {rule["name"] for rule in document["routing"]["signals"]["context"]
             if parse_token_count(rule.get("min_tokens")) <= tokens <= parse_token_count(rule["max_tokens"])}
    decision = max((d for d in document["routing"]["decisions"]
                    if all(c["type"] == "context" and c["name"] in bands for c in d["rules"]["conditions"])), key=lambda d: d["priority"])
    model = next(m for m in document["providers"]["models"] if m["name"] == decision["modelRefs"][0]["model"])
    return int(model["backend_refs"][0]["endpoint"].rsplit(":", 1)[1])


# llm-d: apix/config/v1alpha1/endpointpickerconfig_types.go, pkg/epp/config/loader, and the plug-ins' own files.
TOP = {"apiVersion", "kind", "featureGates", "plugins", "schedulingProfiles", "saturationDetector", "dataLayer", "flowControl", "parser"}
PARAMETERS = {"context-length-aware": {"label", "enableFiltering"}, "token-producer": {"modelName", "vllm", "udsTokenizerConfig"},
              "queue-scorer": set(), "max-score-picker": set(), "single-profile-handler": set()}


def llm_d_problems(document):
    problems = [f"key {key}" for key in document.keys() - TOP]
    if (document.get("apiVersion"), document.get("kind")) != ("llm-d.ai/v1alpha1", "EndpointPickerConfig"):
        problems.append("not an EndpointPickerConfig")
    names = [plugin.get("name", plugin["type"]) for plugin in document["plugins"]]
    problems += [f"two plug-ins {name}" for name in set(names) if names.count(name) > 1]
    for plugin in document["plugins"]:
        problems += [f"key {key}" for key in plugin.keys() - {"type", "name", "parameters"}]
        if plugin["type"] not in PARAMETERS:
            problems.append(f"type {plugin['type']}")
        problems += [f"parameter {key}" for key in plugin.get("parameters", {}).keys() - PARAMETERS.get(plugin["type"], set())]
        if plugin["type"] == "token-producer" and not plugin.get("parameters", {}).get("modelName"):
            problems.append("no modelName")
    for profile in document["schedulingProfiles"]:
        problems += [f"key {key}" for key in profile.keys() - {"name", "plugins"}]
        for used in profile["plugins"]:
            problems += [f"key {key}" for key in used.keys() - {"pluginRef", "weight"}]
            if used["pluginRef"] not in names:
                problems.append(f"no plug-in {used['pluginRef']}")
    return problems


def llm_d_score(tokens, low, high):
    """calculateRangeScore of context_length_aware.go"""
    if low <= tokens <= high:
        width = high - low
        return 1.0 if width == 0 else 0.3 + 0.7 * (0.7 / (1 + width / 10000) + 0.3 * (high - tokens) / width)
    return 0.3 / (1 + (tokens - high if tokens > high else low - tokens) / 1000)


def llm_d_pod(document, pods, tokens, queues):
    """The name of the pod that is picked. pods: {name: labels}; queues: {name: score of queue-scorer, 0 … 1}."""
    plugins = {plugin.get("name", plugin["type"]): plugin for plugin in document["plugins"]}
    scores = dict.fromkeys(pods, 0.0)
    for used in document["schedulingProfiles"][0]["plugins"]:
        plugin, weight = plugins[used["pluginRef"]], used.get("weight", 1.0)
        if plugin["type"] == "queue-scorer":
            scores = {name: score + weight * queues[name] for name, score in scores.items()}
        if plugin["type"] != "context-length-aware":
            continue
        parameters = plugin.get("parameters", {})
        for name in list(scores):
            low, high = (int(part) for part in pods[name][parameters.get("label", "llm-d.ai/context-length-range")].split("-"))
            if parameters.get("enableFiltering") and not low <= tokens <= high:
                del scores[name]
            else:
                scores[name] += weight * llm_d_score(tokens, low, high)
    return max(scores, key=scores.get)


class LadderFiles(unittest.TestCase):
    def each(self, pattern):
        found = [(folder, file) for folder in FOLDERS for file in sorted(folder.glob(pattern))]
        self.assertTrue(found, f"no {pattern} in {', '.join(map(str, FOLDERS)) or 'no folder'}")
        for folder, file in found:
            with self.subTest(file=str(file)):
                yield folder, file

    def ladder(self, folder):
        """[(rung's length without the reserve, length)]"""
        ladder = json.loads((folder / "ladder.json").read_text())
        return [(rung["length"] - ladder["reserve"], rung["length"]) for rung in ladder["rungs"]]

    def test_kubernetes_takes_them(self):
        for _, file in self.each("*/kubernetes.yaml"):
            documents = list(yaml.safe_load_all(file.read_text()))
            self.assertEqual(kubernetes_problems([d for d in documents if d], ("1.25", "1.37")), [])

    def test_compose_takes_them(self):
        for _, file in self.each("*/compose.yaml"):
            self.assertEqual(compose_problems(yaml.safe_load(file.read_text())), [])

    @unittest.skipUnless(shutil.which("systemd-analyze"), "no systemd-analyze (Debian's package systemd)")
    def test_systemd_has_nothing_to_say_about_them(self):
        for _, file in self.each("*/*.service"):
            self.assertEqual(systemd_problems([file]), [])

    def test_vllm_sr_takes_them(self):
        for _, file in self.each("gateway/vllm-sr.yaml"):
            self.assertEqual(vllm_sr_problems(file.read_text()), [])

    def test_vllm_sr_sends_a_count_to_the_lowest_rung_that_holds_it(self):
        for folder, file in self.each("gateway/vllm-sr.yaml"):
            document = yaml.safe_load(file.read_text())
            ports = [int(m["backend_refs"][0]["endpoint"].rsplit(":", 1)[1]) for m in document["providers"]["models"]]
            rungs = self.ladder(folder)
            for holds, _ in rungs[:-1]:
                for tokens in range(holds - BORDERS, holds + BORDERS + 1):
                    self.assertEqual(vllm_sr_port(document, tokens), ports[sum(tokens > top for top, _ in rungs[:-1])], tokens)

    def test_llm_d_takes_them(self):
        for _, file in self.each("gateway/llm-d.yaml"):
            self.assertEqual(llm_d_problems(yaml.safe_load(file.read_text())), [])

    def test_llm_d_sends_a_prompt_to_the_lowest_rung_that_holds_it_and_is_up(self):
        for folder, file in self.each("gateway/llm-d.yaml"):
            document, rungs = yaml.safe_load(file.read_text()), self.ladder(folder)
            made = [d for d in yaml.safe_load_all((folder / "vllm/kubernetes.yaml").read_text()) if d and d["kind"] == "Deployment"]
            pods = {d["metadata"]["name"]: d["spec"]["template"]["metadata"]["labels"] for d in made}
            order = list(pods)
            self.assertEqual(len(order), len(rungs))
            counts = {1, rungs[-1][1] * 2} | {holds + i for holds, _ in rungs for i in range(-BORDERS, BORDERS + 1)}
            for down in [None, *order[:-1]]:  # nobody takes over from the last
                for tokens in counts:
                    rung = sum(tokens > holds for holds, _ in rungs[:-1])
                    right = next(name for name in order[rung:] if name != down)
                    # The right one has the longest queue: load must not move a prompt to another rung.
                    queues = {name: 0.0 if name == right else 1.0 for name in order}
                    up = {name: labels for name, labels in pods.items() if name != down}
                    self.assertEqual(llm_d_pod(document, up, tokens, queues), right, f"{tokens} tokens, {down} is down")


class BrokenFiles(unittest.TestCase):
    """What takes every file checks none: each check refuses a file with one thing wrong."""

    def read(self, pattern):
        files = [file for folder in FOLDERS for file in sorted(folder.glob(pattern))]
        self.assertTrue(files, pattern)
        return files[0]

    def refused(self, check, document, *changes):
        self.assertEqual(check(copy.deepcopy(document)), [])
        for change in changes:
            broken = copy.deepcopy(document)
            change(broken)
            self.assertNotEqual(check(broken), [], broken)

    def test_kubernetes(self):
        documents = [d for d in yaml.safe_load_all(self.read("*/kubernetes.yaml").read_text()) if d]
        pod = lambda d: d[0]["spec"]["template"]  # noqa: E731
        self.refused(kubernetes_problems, documents,
                     lambda d: d[0]["spec"].update(replicaz=2),
                     lambda d: pod(d)["spec"]["containers"][0]["ports"][0].update(containerPort="many"),
                     lambda d: pod(d)["metadata"]["labels"].update({"mrrope/holds": "0 - 7168"}),
                     lambda d: pod(d)["metadata"].update(labels={"app": "other"}),
                     lambda d: d[0]["metadata"].update(name="Model_8k"),
                     lambda d: pod(d)["spec"].update(volumes=[]),
                     lambda d: pod(d)["spec"]["containers"][0].update(command=["sh", "-c", "$(MODEL)"]))

    def test_compose(self):
        document = yaml.safe_load(self.read("*/compose.yaml").read_text())
        first = next(iter(document["services"]))
        self.refused(compose_problems, document,
                     lambda d: d["services"][first].update(imagine="x"),
                     lambda d: d["services"][first].update(command=["$HOME"]),
                     lambda d: d["services"][first].pop("healthcheck"),
                     lambda d: d["services"].update({"a b": d["services"][first]}))

    @unittest.skipUnless(shutil.which("systemd-analyze"), "no systemd-analyze (Debian's package systemd)")
    def test_systemd(self):
        text = self.read("*/*.service").read_text()
        with tempfile.TemporaryDirectory() as folder:
            for old, new in (("[Service]\n", "[Service]\nNonsense=1\n"), ("[Service]\n", "[Service]\nRestart=sometimes\n"),
                             ("ExecStart=", "ExecStart=/nowhere/")):
                unit = pathlib.Path(folder) / "rung.service"
                unit.write_text(text.replace(old, new, 1))
                self.assertNotEqual(systemd_problems([unit]), [], new)

    def test_vllm_sr(self):
        document = yaml.safe_load(self.read("gateway/vllm-sr.yaml").read_text())
        self.refused(lambda d: vllm_sr_problems(yaml.safe_dump(d)), document,
                     lambda d: d["routing"]["decisions"][0]["modelRefs"][0].update(model="nobody"),
                     lambda d: d["routing"]["signals"]["context"][0].update(min_tokens="9000", max_tokens="8000"),
                     lambda d: d["providers"].update(default="x"))

    def test_llm_d(self):
        document = yaml.safe_load(self.read("gateway/llm-d.yaml").read_text())
        self.refused(llm_d_problems, document,
                     lambda d: d.update(profiles=[]),
                     lambda d: d["plugins"].append(d["plugins"][0]),
                     lambda d: d["schedulingProfiles"][0]["plugins"].append({"pluginRef": "nobody"}),
                     lambda d: d["plugins"][0]["parameters"].pop("modelName"))


if __name__ == "__main__":
    unittest.main()
