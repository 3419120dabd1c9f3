"""The studio in a real browser: train, watch, cancel, compare; attacks; a daemon that is killed."""

import json
import os
import signal
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from mosaic.spec.run_dir import Home

from .conftest import Page, mosaic

XSS = "<img src=x onerror=\"window.hacked=1\"><script>window.hacked=1</script><svg onload='window.hacked=1'>"


def test_train_from_the_form_watch_the_grid_and_cancel(page: Page) -> None:
    page.open("/new")
    page.fill("input[name=label]", "from the browser")
    page.fill("input[name='metadata.worker.config.extras.algo_params.gamma']", "7")
    page.fill("input[name='metadata.worker.config.extras.algo_params.num_envs']", "8")
    page.fill("input[name='metadata.worker.config.total_timesteps']", "900M")
    page.press(".submit .primary")
    page.until("return document.querySelector('.field.broken')?.innerText.includes('Gamma')")
    page.fill("input[name='metadata.worker.config.extras.algo_params.gamma']", "0.98")
    page.press(".submit .primary")
    run_id = page.until("return location.pathname.startsWith('/run/') && location.pathname.slice(5)")
    page.see("900M")
    page.see("running")
    page.until("return Number(document.querySelector('.frames-part')?.dataset.painted) > 5")
    assert page.run("return document.querySelectorAll('.tile').length") == 8
    page.press(".tile:nth-child(3)")
    page.until("return document.querySelectorAll('.tile').length === 1")
    page.see("env 2")
    steps = "return Number(document.querySelector('[data-fact=steps] b').innerText.split(' ')[0].replaceAll(',', ''))"
    before = page.until(steps)
    page.until(f"return (() => {{ {steps} }})() > arguments[0]", before)
    page.press("button[data-verb=pause]")
    page.press("button[data-verb=continue]")
    page.press("button[data-verb=cancel]")
    page.until("return document.querySelector('.run-title .state')?.innerText === 'cancelled'")
    shown = json.loads(mosaic("show", run_id, "--json"))
    assert (shown["state"], shown["label"]) == ("cancelled", "from the browser")
    params = shown["config"]["metadata"]["worker"]["config"]["extras"]["algo_params"]
    assert (params["gamma"], params["num_envs"]) == (0.98, 8)
    assert page.problems() == [] or all("400" in problem for problem in page.problems())


LOSE_THE_FIRST_ANSWER = """
const real = window.fetch;
let isLost = false;
window.fetch = async (...asked) => {
  const answer = await real(...asked);
  if (asked[1]?.method === "POST" && !isLost) { isLost = true; throw new TypeError("lost"); }
  return answer;
};
return true"""


def test_a_second_press_after_a_lost_answer_begins_no_second_run(page: Page) -> None:
    page.open("/new")
    page.fill("input[name=label]", "pressed-twice")
    page.fill("input[name='metadata.worker.config.total_timesteps']", "2k")
    page.run(LOSE_THE_FIRST_ANSWER)
    page.press(".submit .primary")
    page.see("does not answer")
    page.press(".submit .primary")
    page.until("return location.pathname.startsWith('/run/')")
    assert mosaic("runs", "--filter", "label:pressed-twice", "--json").count('"run_id"') == 1


def test_filter_group_and_compare(page: Page, runs: list[str]) -> None:
    page.open("/?filter=label:cart")
    page.until("return document.querySelector('.table-view').dataset.total === '6'")
    page.fill(".filter", "seed:1,2 algo:ppo label:cart")
    page.until("return document.querySelector('.table-view').dataset.total === '2'")
    page.until("return location.search.includes('seed')")
    page.fill(".filter", "lr<cheap")
    page.see("'cheap' is not a number")
    page.open("/?filter=label:cart&group=group")
    page.press(".row.group a")
    page.until("return location.pathname === '/compare'")
    page.until("return document.querySelector('.charts')?.dataset.whole === '1'")
    page.see("6 runs side by side")
    page.press(".bar .chip:nth-child(2)")
    page.see("mean of 6 seeds, ± std (rough)")
    page.see("Differences")
    few = "&".join(f"run={run}" for run in runs[:3])
    page.open(f"/compare?{few}&by=group&middle=IQM")
    page.see("IQM of 3 seeds, no band below 5 seeds")
    page.open(f"/statistics?group={runs[0]}")
    page.until("return document.querySelector('tbody tr')?.innerText.includes('rough')")


def test_everything_about_a_run(page: Page, runs: list[str]) -> None:
    page.open(f"/run/{runs[0]}")
    page.until("return document.querySelector('.charts')?.dataset.whole === '1'")
    page.see("Episodic return")
    page.open("/run/cart,%20seed%201")
    page.until("return location.pathname === arguments[0]", f"/run/{runs[0]}")
    page.until("return document.querySelector('.charts')?.dataset.whole === '1'")
    page.open(f"/run/{runs[0]}?tab=log")
    page.see("checkpoint saved")
    page.open(f"/run/{runs[0]}?tab=settings")
    page.see("learning_rate")
    page.open(f"/run/{runs[0]}?tab=artifacts")
    film = "document.querySelector('video')"
    page.until(f"return {film}?.readyState >= 1 && {film}.duration > 0")
    page.run(f"{film}.muted = true; {film}.play()")
    page.until(f"return {film}.currentTime > 0")
    assert page.problems() == []


def test_no_text_looks_like_another(page: Page, runs: list[str]) -> None:
    mosaic("label", runs[4], "dqn \u202eevil\u202c", "--notes", "\x1b[31mred\x1b[0m\u200b")
    page.open(f"/run/{runs[4]}")
    page.until("return document.body.innerText.includes('red')")
    said = page.run("return document.body.innerText")
    assert r"dqn \u202eevil\u202c" in said
    assert r"red\u200b" in said
    assert page.run("return document.title") == r"dqn \u202eevil\u202c · MOSAIC"
    page.problems()


def test_nothing_that_is_written_in_a_run_becomes_markup(page: Page, runs: list[str], home: Path) -> None:
    run_id = runs[5]
    mosaic("label", run_id, XSS, "--notes", XSS)
    mosaic("tag", run_id, "<b>bold</b>")
    run_dir = Home(home).run(run_id).root
    with (run_dir / "logs/cleanrl.stdout.log").open("a") as log:
        log.write(f"{XSS}\n")
    (run_dir / "notes.txt").write_text(XSS)
    for path in (
        f"/?filter=run:{run_id}",
        f"/run/{run_id}",
        f"/run/{run_id}?tab=log",
        f"/run/{run_id}?tab=settings",
        f"/run/{run_id}?tab=artifacts",
        f"/compare?run={run_id}&run={runs[0]}",
        "/run/%3Cimg%20src=x%20onerror=window.hacked=1%3E",
        "/?filter=%3Cimg%20src%3Dx%20onerror%3D%22window.hacked%3D1%22%3E",
        "/statistics?group=%3Cimg%20src%3Dx%20onerror%3Dwindow.hacked%3D1%3E",
    ):
        page.open(path)
        page.until("return document.body.innerText.includes('onerror') || document.querySelector('.filter')?.value")
        assert not page.run(
            "return window.hacked || document.querySelector('img[src=x]') || document.querySelector('svg[onload]')"
        )
    refused = page.run("try { document.body.innerHTML = '<b>x</b>'; return '' } catch (error) { return error.name }")
    assert refused == "TypeError", "trusted types refuse markup, whatever the page's own code does"
    page.problems()


class OtherSite(BaseHTTPRequestHandler):
    """A page of another origin, which a user has opened in another tab."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>other</title>")

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def other_site() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), OtherSite)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


ATTACK = """
const [base, socket, run, done] = arguments;
const label = base + '/api/runs/' + run + '/label';
const tried = {};
async function reads(name, address, given) {
  try {
    const got = await fetch(address, {credentials: 'include', ...given});
    tried[name] = got.type + ' ' + got.status;
  } catch (error) {
    tried[name] = 'refused';
  }
}
function ends(name, made, good) {
  return new Promise((resolve) => {
    made[good] = () => resolve(tried[name] = 'let in');
    made.onerror = () => resolve(tried[name] = 'refused');
  });
}
(async () => {
  const body = '{"label": "stolen"}';
  await reads('read', base + '/api/about', {});
  await reads('blind read', base + '/api/about', {mode: 'no-cors'});
  await reads('label', label, {method: 'POST', headers: {'content-type': 'application/json'}, body});
  await reads('blind label', label, {method: 'POST', mode: 'no-cors', headers: {'content-type': 'text/plain'}, body});
  await ends('socket', new WebSocket(socket), 'onopen');
  const picture = new Image();
  picture.src = base + '/files/icon.svg';
  await ends('picture', picture, 'onload');
  const frame = document.createElement('iframe');
  frame.src = base + '/';
  document.body.append(frame);
  await new Promise((resolve) => frame.onload = resolve);
  try { tried.frame = frame.contentDocument ? 'let in' : 'refused'; } catch { tried.frame = 'refused'; }
  done(tried);
})();
"""


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost", "rebound.example"])
def test_a_page_of_another_origin_gets_nothing(page: Page, runs: list[str], other_site: str, name: str) -> None:
    """127.0.0.1 with another port is the same site for a cookie; rebound.example leads to this machine."""
    host, port = page.server.host.split(":")
    label = json.loads(mosaic("show", runs[1], "--json"))["label"]
    page.browser.get(f"http://{name}:{other_site.rpartition(':')[2]}/")
    page.browser.set_script_timeout(120)
    tried = page.browser.execute_async_script(ATTACK, f"http://{host}:{port}", f"ws://{host}:{port}/live", runs[1])
    assert {tried[way] for way in ("read", "label", "socket", "picture", "frame")} == {"refused"}, tried
    # A blind request tells the page nothing; that it changed nothing is seen at the run.
    assert json.loads(mosaic("show", runs[1], "--json"))["label"] == label
    page.browser.get(f"http://rebound.example:{port}/")
    assert "not a name of this server" in page.run("return document.body.innerText")
    page.problems()


@pytest.mark.parametrize("scheme", ["dark", "light"])
def test_nothing_is_wider_than_a_phone(page: Page, runs: list[str], scheme: str) -> None:
    page.size(390, 844, scheme)
    try:
        for path in (
            "/",
            f"/run/{runs[0]}",
            f"/run/{runs[0]}?tab=log",
            f"/compare?run={runs[0]}&run={runs[1]}",
            "/new",
            "/statistics",
            "/sweeps",
        ):
            page.open(path)
            page.until("return document.querySelector('main')")
            page.until("return document.documentElement.scrollWidth <= 390")
            assert page.run("return document.querySelector('main').scrollWidth") <= 390, path
    finally:
        page.size(1400, 900)
    page.problems()


def test_a_daemon_that_is_killed_is_told_and_found_again(page: Page, runs: list[str], home: Path) -> None:
    page.open(f"/run/{runs[0]}")
    page.until("return document.querySelector('.charts')?.dataset.whole === '1'")
    pid = json.loads(Home(home).lock.read_text())["pid"]
    os.kill(pid, signal.SIGKILL)
    page.see("The daemon does not answer; its runs go on.")
    page.see("not connected")
    mosaic("daemon", "start")
    page.until("return document.body.dataset.connection === 'connected'")
    page.until("return document.querySelector('.banner').hidden")
    # What happens from then on is told to the page that has been open all the time.
    mosaic("label", runs[0], "told after the loss")
    page.until("return document.querySelector('h1').innerText === 'told after the loss'")
    page.problems()


def test_a_server_that_is_gone_is_told(page: Page) -> None:
    """The last test: its server ends."""
    page.open("/")
    page.server.process.send_signal(signal.SIGTERM)
    page.see("'mosaic web' does not answer")
    page.server.process.wait()
