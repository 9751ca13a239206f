# SPDX-License-Identifier: MIT
"""The wheel as people get it: installed into an environment of its own, used without a compiler, and removed again.

MRROPE_WHEEL names the wheel, MRROPE_WHEEL_PYTHON a python that can have it (default: this one). tools/wheels makes it and
runs this.
"""
import http.server
import json
import os
import pathlib
import re
import shutil
import ssl
import subprocess
import sys
import threading
import zipfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
WHEEL = pathlib.Path(os.environ["MRROPE_WHEEL"]).resolve()
PYTHON = os.environ.get("MRROPE_WHEEL_PYTHON", sys.executable)
VERSION = re.search(r'MRROPE_VERSION "(.*)"', (ROOT / "include/mrrope/version.h").read_text())[1]
# What the examples of the documents call beside mrrope; a compiler and another python are not among it.
TOOLS = "bash cat cp cut diff env grep head ls mkdir mv rm sed sort tail tr wc".split()


def files_below(folder):
    """Not what running Python leaves, and no folders: pip does not remove those of manuals when they become empty."""
    return {path for path in folder.rglob("*") if "__pycache__" not in path.parts and not path.is_dir()}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with an environment `env`, whose files before the installation are known, and a folder of tools."""
    folder = tmp_path_factory.mktemp("installed")
    subprocess.run([PYTHON, "-m", "venv", folder / "env"], check=True)
    python = folder / "env/bin/python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", "numpy"], check=True)
    (folder / "tools").mkdir()
    for name in TOOLS:
        (folder / "tools" / name).symlink_to(shutil.which(name))
    before = files_below(folder / "env")
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-index", WHEEL], check=True)
    return folder, before


def run(place, *words, status=0, **more):
    folder, _ = place
    environment = {"PATH": f"{folder}/env/bin:{folder}/tools", "LC_ALL": "C.UTF-8", **more.pop("env", {})}
    words = [folder / "env/bin" / words[0], *words[1:]]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=300, **more)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_the_program_the_module_and_the_package_are_one_version(place):
    assert run(place, "mrrope", "--version") == f"mrrope {VERSION}\n"
    assert run(place, "python", "-m", "mrrope", "--version") == f"mrrope {VERSION}\n"
    assert run(place, "mrrope", "eval", "--version") == f"mrrope {VERSION}\n"
    assert run(place, "python", "-c", "import mrrope; print(mrrope.__version__)") == f"{VERSION}\n"


def test_examples_of_the_documents_run_without_a_compiler(place):
    folder, _ = place
    assert not any(shutil.which(name, path=f"{folder}/env/bin:{folder}/tools") for name in ("cc", "gcc", "c++", "clang", "cmake"))
    run(place, "python", ROOT / "tests/cli/documents_test.py", folder / "env/bin/mrrope", ROOT)


def test_commands_in_python_take_the_python_of_the_environment(place):
    """PATH has no python at all, and the program is called by a link, as uv and pipx put it into ~/.local/bin."""
    folder, _ = place
    link = folder / "linked"
    link.unlink(missing_ok=True)
    link.symlink_to(folder / "env/bin/mrrope")
    done = subprocess.run([link, "campaign", "missing.yaml", "--dry-run"], env={"PATH": "/nowhere"}, capture_output=True, text=True)
    assert done.returncode != 0 and "could not be started" not in done.stderr, done.stderr
    assert str(folder / "env/bin/python3") in done.stderr or "missing.yaml" in done.stderr, done.stderr


def test_the_module_is_not_hidden_by_a_folder_of_its_name(place, tmp_path):
    (tmp_path / "mrrope").mkdir()
    (tmp_path / "mrrope/__init__.py").write_text("raise SystemExit('that of the current folder')")
    assert "that of the current folder" in run(place, "python", "-c", "import mrrope", cwd=tmp_path, status=1)
    said = run(place, "mrrope", "campaign", "missing.yaml", "--dry-run", cwd=tmp_path, status=1)
    assert "that of the current folder" not in said
    assert "missing.yaml" in said or "No module named 'yaml'" in said, said  # Python ran, with the package of the environment


def in_namespace(script, *words, **more):
    """`sh -c script words…` as root of a namespace of mounts; skips where that is refused."""
    begin = ["unshare", "--user", "--map-root-user", "--mount"]
    if subprocess.run([*begin, "true"], capture_output=True).returncode != 0:
        pytest.skip("this system refuses a namespace of mounts")
    return subprocess.run([*begin, "sh", "-c", script, "sh", *words], capture_output=True, text=True, **more)


def test_it_runs_where_it_cannot_write(place, tmp_path):
    folder, _ = place
    script = """mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" || exit 9
touch "$1/new" 2>/dev/null && exit 8
"$1/bin/mrrope" extend "$2" -c 2k -o longer.gguf && "$1/bin/python" -c 'import mrrope' && "$1/bin/mrrope" eval --version"""
    done = in_namespace(script, folder / "env", ROOT / "tests/models/tiny-512.gguf", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["longer.gguf"]


def test_it_runs_without_home_and_locale(place, tmp_path):
    folder, _ = place
    model = tmp_path / "model.gguf"
    shutil.copy(ROOT / "tests/models/tiny-512.gguf", model)
    words = ["-i", "PATH=/nowhere", folder / "env/bin/mrrope", "extend", model, "-c", "2k", "-o", tmp_path / "longer.gguf"]
    done = subprocess.run(["env", *words], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "2048" in run(place, "mrrope", "inspect", tmp_path / "longer.gguf")


@pytest.fixture
def server(tmp_path):
    """A server by HTTPS whose authority nobody knows: its URL, the authority's certificate, and the paths that were asked for."""
    authority, certificate, key = tmp_path / "authority.pem", tmp_path / "certificate.pem", tmp_path / "key.pem"

    def openssl(*words):
        subprocess.run(["openssl", *words], check=True, capture_output=True, cwd=tmp_path)

    openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=an authority", "-keyout", "authority.key", "-out", authority)
    openssl("req", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost", "-keyout", key, "-out", "request.pem")
    (tmp_path / "names").write_text("subjectAltName=DNS:localhost\n")
    openssl("x509", "-req", "-in", "request.pem", "-CA", authority, "-CAkey", "authority.key", "-CAcreateserial", "-days", "2", "-extfile", "names",
            "-out", certificate)
    asked = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            self.send_error(404)

        do_POST = do_GET

        def log_message(self, *words):
            pass

    listener = http.server.ThreadingHTTPServer(("localhost", 0), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    listener.socket = context.wrap_socket(listener.socket, server_side=True)
    threading.Thread(target=listener.serve_forever, daemon=True).start()
    yield f"https://localhost:{listener.server_port}", authority, asked
    listener.shutdown()


def test_it_asks_servers_by_https_and_trusts_no_stranger(place, server):
    url, authority, asked = server
    said = run(place, "mrrope", "probe", url, status=1)
    assert "certificate" in said and not asked, said
    run(place, "mrrope", "probe", url, status=1, env={"SSL_CERT_FILE": str(authority)})
    assert asked


def certificates():
    """Where tools/static_curl lets programs look."""
    listed = re.search(r"^certificates=\((.*?)^\)", (ROOT / "tools/static_curl").read_text(), re.MULTILINE | re.DOTALL)[1]
    return re.findall(r"^  (/\S+)", listed, re.MULTILINE)


def test_it_knows_where_distributions_keep_certificates(place):
    folder, _ = place
    program = (folder / "env/bin/mrrope-eval").read_bytes()
    assert len(certificates()) >= 5 and all(path.encode() in program for path in certificates())


def test_it_trusts_the_authorities_of_the_system(place, server):
    folder, _ = place
    url, authority, asked = server
    bundle = next((path for path in certificates() if os.path.exists(path)), None)
    if not bundle:
        pytest.skip("this system has no certificates")
    script = 'mount --bind "$1" "$2" && exec "$3" probe "$4"'
    done = in_namespace(script, authority, os.path.realpath(bundle), folder / "env/bin/mrrope", url, env={"PATH": os.environ["PATH"]})
    assert asked and "certificate" not in done.stderr, done.stderr


def test_programs_and_the_module_are_hardened(tmp_path):
    zipfile.ZipFile(WHEEL).extractall(tmp_path)
    done = subprocess.run([sys.executable, ROOT / "tests/hardening/checksec.py", tmp_path], capture_output=True, text=True)
    print(done.stdout)
    assert done.returncode == 0 and "_core" in done.stdout, done.stdout


def test_the_list_of_what_is_compiled_in_is_complete(place):
    """dist-info/sboms against the program, in which OpenSSL says its version, and against the licences that have to be there."""
    folder, _ = place
    (sbom,) = [name for name in zipfile.ZipFile(WHEEL).namelist() if re.search(r"\.dist-info/sboms/mrrope\.cdx\.json$", name)]
    document = json.loads(zipfile.ZipFile(WHEEL).read(sbom))
    assert document["bomFormat"] == "CycloneDX" and document["metadata"]["component"]["version"] == VERSION
    versions = {component["name"]: component["version"] for component in document["components"]}
    assert {"nlohmann-json", "fmt", "CLI11", "highway", "xxHash", "zlib", "nanobind", "curl", "openssl"} <= versions.keys()
    assert all(re.fullmatch(r"\d+(\.\d+)+[\w.+]*", version) for version in versions.values()), versions
    assert f"OpenSSL {versions['openssl']} ".encode() in (folder / "env/bin/mrrope-eval").read_bytes()
    licences = {pathlib.PurePath(name).name for name in zipfile.ZipFile(WHEEL).namelist() if "/licenses/" in name}
    assert {"libstdc++", "vega"} <= versions.keys()
    same = {"vega-lite": "vega", "vega-embed": "vega", "libstdc++": "gcc-runtime"}
    for name in versions.keys() - {"zlib"}:  # which is the system's
        assert f"{same.get(name, name.lower())}.txt" in licences, name


def test_uv_runs_it_by_name(place, tmp_path):
    uv = pathlib.Path(sys.executable).with_name("uv")
    if not uv.exists():
        pytest.skip("uv is not beside this python (tools/engine_env packaging has it)")
    environment = {**os.environ, "UV_CACHE_DIR": str(tmp_path / "cache"), "UV_TOOL_DIR": str(tmp_path / "tools")}
    words = [uv, "tool", "run", "--quiet", "--python", PYTHON, "--from", WHEEL, "mrrope", "inspect", ROOT / "tests/models/tiny-512.gguf"]
    done = subprocess.run(words, env=environment, capture_output=True, text=True)
    assert "trained context   512" in done.stdout, done.stderr


def test_zz_no_file_is_left_when_it_is_removed(place):
    folder, before = place
    run(place, "python", "-m", "pip", "uninstall", "--quiet", "--yes", "mrrope")
    assert files_below(folder / "env") == before
