"use strict";
// Everything shown is set as text, never as markup: paths and names come from clients.
const EVERY_MS = 2000, ANSWER_MS = 5000;
const at = id => document.getElementById(id);
const whole = new Intl.NumberFormat("en-US", {maximumFractionDigits: 0});
const count = n => whole.format(n);
const rate = n => n >= 100 ? count(n) : n >= 0.095 || n === 0 ? n.toFixed(1) : n.toFixed(3);
const percent = r => r === null ? "–" : (100 * r).toFixed(r > 0.9995 || r === 0 ? 0 : 1) + " %";
const clock = s => new Date(1000 * s).toLocaleTimeString("en-GB");
const moment = s => new Date(1000 * s).toISOString().slice(0, 10) === new Date().toISOString().slice(0, 10)
  ? clock(s) : new Date(1000 * s).toLocaleString("en-GB");
const bytes = n => n < 1048576 ? count(n / 1024) + " KiB" : n < 1073741824 ? (n / 1048576).toFixed(1) + " MiB" : (n / 1073741824).toFixed(2) + " GiB";
const ms = s => s < 1 ? (1000 * s).toFixed(s < 0.01 ? 1 : 0) + " ms" : s.toFixed(1) + " s";
function lasted(s) {
  const d = Math.floor(s / 86400), h = Math.floor(s % 86400 / 3600), m = Math.floor(s % 3600 / 60);
  return d ? `${d} d ${h} h` : h ? `${h} h ${m} min` : m ? `${m} min` : `${Math.floor(s)} s`;
}
function text(id, value) { if (at(id).textContent !== value) at(id).textContent = value; }

function element(name, value, className) {
  const made = document.createElement(name);
  if (value !== undefined) made.textContent = value;
  if (className) made.className = className;
  return made;
}
// Columns: [heading, class of the cells, value of a row, share of a bar (0 to 1) or undefined, second line or undefined].
const drawn = {};
function table(id, caption, columns, rows, none) {
  const cells = rows.map(row => columns.map(([, , value, share, more]) => [String(value(row)), share ? share(row) : null, more ? more(row) : null]));
  const now = JSON.stringify([caption, cells]);
  if (drawn[id] === now) return;
  drawn[id] = now;
  const made = element("table"), head = element("thead"), line = element("tr"), body = element("tbody");
  made.append(element("caption", rows.length ? caption : none));
  if (rows.length) {
    for (const [heading, className] of columns) {
      const th = element("th", heading, className === "number" ? "number" : "");
      th.scope = "col";
      line.append(th);
    }
    head.append(line);
    for (const row of cells) {
      const tr = element("tr");
      row.forEach(([value, share, more], index) => {
        const td = element("td", value, columns[index][1]);
        if (share !== null) { td.classList.add("bar"); td.style.setProperty("--share", (100 * share).toFixed(1) + "%"); }
        if (more !== null) td.append(element("span", more, "detail"));
        tr.append(td);
      });
      body.append(tr);
    }
    made.append(head, body);
  }
  const place = at(id);
  place.replaceChildren(made);
  reach(place);
}
// Make a region that scrolls horizontally focusable by keyboard, and name it.
function reach(place) {
  const isWide = place.scrollWidth > place.clientWidth, heading = place.closest("section").getAttribute("aria-labelledby");
  for (const [name, value] of [["tabindex", "0"], ["role", "group"], ["aria-labelledby", heading]]) {
    if (isWide && value !== null) place.setAttribute(name, value); else place.removeAttribute(name);
  }
}
addEventListener("resize", () => document.querySelectorAll(".scroll").forEach(reach));
function course(id, points, top) {
  const svg = at(id), ns = "http://www.w3.org/2000/svg";
  const known = points.map((y, x) => [x, y]).filter(([, y]) => y !== null);
  if (known.length < 2) { svg.replaceChildren(); return; }
  const last = points.length - 1;
  const line = known.map(([x, y]) => `${(100 * x / last).toFixed(2)},${(36 - 34 * y / (top || 1)).toFixed(2)}`);
  const area = document.createElementNS(ns, "path"), stroke = document.createElementNS(ns, "path");
  const left = (100 * known[0][0] / last).toFixed(2), right = (100 * known[known.length - 1][0] / last).toFixed(2);
  area.setAttribute("class", "area");
  area.setAttribute("d", `M${left},38 L${line.join(" L")} L${right},38 Z`);
  stroke.setAttribute("class", "line");
  stroke.setAttribute("d", "M" + line.join(" L"));
  svg.replaceChildren(area, stroke);
}

function namenodes(rows) {
  table("namenodes", "As each says of itself", [
    ["HTTP", "name address", n => n.http], ["RPC", "name address", n => n.rpc], ["State", "word", n => n.state],
    ["Namespace", "name", n => n.namespace_over_http !== null && n.namespace_over_http === n.namespace_over_rpc ? n.namespace_over_http
      : `${n.namespace_over_http || "not known yet"} over HTTP, ${n.namespace_over_rpc || "not known yet"} over RPC`],
  ], rows, "None is configured.");
}
function edits(views) {
  const shown = views.filter(([, v]) => v && v.source !== null);
  at("edits-shown").hidden = !shown.length;
  table("edits", "Where changes are read, the JournalNodes that are asked, and why what is better is not read", [
    ...(shown.some(([name]) => name) ? [["Namespace", "word", r => r[0]]] : []),
    ["Source", "word", r => r[1]], ["JournalNode", "name address", r => r[2]], ["State", "", r => r[3]],
    ["Transactions behind", "number", r => r[4]], ["Epoch", "number", r => r[5]], ["Discarded", "number", r => r[6]],
  ], shown.flatMap(([name, v]) => [
    ...(v.source === "journalnodes" && v.journalnodes.length ? [] : [[name, v.source, "–", "read", "–", "–", "–"]]),
    ...v.passed_over.map(p => [name, p.source, "–", "not read: " + p.why, "–", "–", "–"]),
    ...v.journalnodes.map(n => [name, "journalnodes", n.address, n.is_counted ? "counts" : "does not count: " + (n.why_not || "it has not answered yet"),
      n.behind_txids === null ? "not known" : count(n.behind_txids), v.epoch === null ? "–" : count(v.epoch), count(v.discarded)]),
  ]), "");
}
function settings(values) {
  table("settings", "Secrets are masked; docs/settings.md says what each means", [
    ["Key", "name", x => x[0]], ["Value", "name", x => typeof x[1] === "string" ? x[1] || "–" : JSON.stringify(x[1])],
  ], Object.entries(values), "");
}

async function ask(target) {
  const reply = await fetch(target, {signal: AbortSignal.timeout(ANSWER_MS), cache: "no-store"});
  const answer = await reply.json();
  if (!reply.ok) throw new Error(answer.error || `status ${reply.status}`);
  return answer;
}
let timer = 0, isAsking = false, heard = null;
async function look() {
  clearTimeout(timer);
  if (document.hidden || isAsking) return;
  isAsking = true;
  try {
    show(await ask("status"));
    heard = Date.now() / 1000;
    at("silence").hidden = true;
  } catch (error) {
    text("silence", `No answer from /status (${error.message}). ` + (heard === null ? "" : `The figures are those of ${clock(heard)}.`));
    at("silence").hidden = false;
  } finally {
    isAsking = false;
    if (!document.hidden) timer = setTimeout(look, EVERY_MS);
  }
}
// Called once by the page's own script, which defines show(status).
function begin() {
  document.addEventListener("visibilitychange", look);
  at("state").hidden = true;
  look();
}
