// SPDX-License-Identifier: MIT OR Apache-2.0
// A page's figures and tables: values under the pointer, zoom along x, sorting. Without it, all is still there to read.
// One file of some 600 lines, as a page holds it whole: places, paths, saving, a figure, tables, in this order.
"use strict";

const PX_PER_TICK = 90;
const POINTER_PX = 12;

// Room above the highest value, and below the lowest where the axis is not from zero; of ratios, on both sides.
const MARGIN = 0.05;
const LOG_MARGIN = 0.02;

// A picture as PNG has so many pixels for one.
const PNG_SCALE = 2;

// Digits of what is shown at the pointer: of values, and of half the width of their intervals.
const VALUE_DIGITS = 4;
const ERROR_DIGITS = 2;

/* Places and numbers. Ends of a logarithmic axis are logarithms, as the page's data has them. */

const inner = (axis, value) => (axis.kind === "logarithmic" ? Math.log10(value) : value);
const outer = (axis, value) => (axis.kind === "logarithmic" ? 10 ** value : value);
const round = (px) => Math.round(px * 10) / 10;

function plain(value, digits) {
  const size = Math.abs(value);
  if (size >= 1e15 || (size > 0 && size < 1e-4)) return Number(value.toPrecision(digits)).toExponential();
  const [divisor, prefix] = size >= 1e9 ? [1e9, "G"] : size >= 1e6 ? [1e6, "M"] : [1, ""];
  return Number((value / divisor).toPrecision(digits)) + prefix;
}

function shown(axis, value, error = 0, digits = 6) {
  if (axis.kind === "names") return axis.names[Math.round(value)] ?? "";
  const number = plain(value, digits) + (error > 0 ? interval(axis, value, error) : "");
  return axis.unit ? `${number} ${axis.unit}` : number;
}

// Of a share of 0.9 \u00b1 0.2, the upper end is 1: then both ends are told.
function interval(axis, value, error) {
  const [least, most] = (axis.limits ?? []).map((end, place) => end ?? [-Infinity, Infinity][place]);
  if (!(value - error < least || value + error > most)) return ` \u00b1 ${plain(error, ERROR_DIGITS)}`;
  const ends = [Math.min(value, Math.max(least, value - error)), Math.max(value, Math.min(most, value + error))];
  return ` (${ends.map((end) => plain(end, VALUE_DIGITS)).join(" to ")})`;
}

function short(value, step, largest) {
  if (value === 0) return "0";
  if (largest > 1e15 || largest < 1e-4) return value.toExponential(Math.max(0, Math.ceil(Math.log10(largest / step))));
  const [divisor, prefix] = largest >= 1e12 ? [1e12, "T"] : largest >= 1e9 ? [1e9, "G"] : largest >= 1e6 ? [1e6, "M"]
    : largest >= 1e4 ? [1e3, "k"] : [1, ""];
  const decimals = Math.min(9, Math.max(0, Math.ceil(-Math.log10(step / divisor) - 1e-9)));
  return (value / divisor).toFixed(decimals) + prefix;
}

function ticks(axis, low, high, wanted) {
  if (axis.kind === "names") return axis.names.map((name, place) => [place, name]).filter(([at]) => at >= low && at <= high);
  if (axis.kind === "logarithmic" && high - low > 1) {
    const found = [];
    const digits = high - low < 2 ? [1, 2, 5] : [1];
    const every = Math.ceil((high - low) / wanted);
    for (let decade = Math.floor(low); decade <= high; decade++) {
      if (decade % every !== 0) continue;
      for (const digit of digits) {
        const value = digit * 10 ** decade;
        // Beside 1e-5 a 0.01 would have to be counted out.
        const label = low < -4 && value < 0.09 ? value.toExponential(0) : short(value, value, value);
        found.push([decade + Math.log10(digit), label]);
      }
    }
    return found.filter(([at]) => at >= low && at <= high);
  }
  const [from, to] = [outer(axis, low), outer(axis, high)];
  const rough = (to - from) / wanted;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = ([1, 2, 5].find((digit) => digit * power >= rough * 0.7) ?? 10) * power;
  const largest = Math.max(Math.abs(from), Math.abs(to));
  const found = [];
  for (let number = Math.ceil(from / step - 1e-9); number <= to / step + 1e-9 && found.length < 50; number++) {
    found.push([inner(axis, number * step), short(number * step, step, largest)]);
  }
  return found;
}

/* Lines as paths, for a part of the x axis. */

const dot = (x, y) => `M${round(x - 2.4)} ${round(y)}a2.4 2.4 0 1 0 4.8 0a2.4 2.4 0 1 0 -4.8 0Z`;

const SHAPES = [
  (x, y) => `M${x} ${y - 4}v8`,
  (x, y) => `M${x} ${y + 4}l4 -8h-8z`,
  (x, y) => `M${x} ${y - 4}l4 4l-4 4l-4 -4z`,
  (x, y) => `M${x} ${y - 4}m-3 1h6v6h-6z`,
];

// The points in view and the ends of all segments that cross the view, even if none of its points is in it; of many in
// one column the first, the lowest, the highest and the last.
function visible(line, toX, toY, width) {
  const points = line.x.map((x, place) => [x === null ? NaN : toX(x), line.y[place] === null ? NaN : toY(line.y[place]), place]);
  const kept = [];
  for (let start = 0; start < points.length;) {
    const column = Math.floor(points[start][0]);
    let end = start + 1;
    while (end < points.length && Math.floor(points[end][0]) === column && !Number.isNaN(points[end][1])) end++;
    const around = points.slice(Math.max(0, start - 1), end + 1).map(([x]) => x);
    const isNear = around.some((x, place) => place > 0 && Math.min(around[place - 1], x) <= width + 1
      && Math.max(around[place - 1], x) >= -1) || around.some((x) => x >= -1 && x <= width + 1);
    if (isNear || Number.isNaN(column)) {
      const run = points.slice(start, end);
      const heights = run.map(([, y]) => y);
      const places = [0, run.length - 1, heights.indexOf(Math.min(...heights)), heights.indexOf(Math.max(...heights))];
      const chosen = [...new Set(places.filter((place) => place >= 0))].sort((a, b) => a - b);
      kept.push(...(run.length > 4 ? chosen.map((place) => run[place]) : run));
    }
    start = end;
  }
  return kept;
}

function path(line, points, foot, stretch) {
  const isDrawn = ([x, y]) => Number.isFinite(x) && Number.isFinite(y);
  if (line.style === "points") {
    const over = (line.bar[0] + line.bar[1] / 2) * stretch;
    return points.filter(isDrawn).map(([x, y]) => dot(x + over, y)).join("");
  }
  if (line.style === "bars") {
    const [offset, width] = line.bar.map((px) => px * stretch);
    const bar = ([x, y]) => `M${round(x + offset)} ${foot}V${round(y)}H${round(x + offset + width)}V${foot}Z`;
    return points.filter(isDrawn).map(bar).join("");
  }
  let drawn = "";
  let isOn = false;
  points.forEach((point, number) => {
    const [x, y] = point;
    const isOff = !isDrawn(point);
    if (!isOff && isOn) drawn += line.style === "steps" ? `H${round(x)}V${round(y)}` : `L${round(x)} ${round(y)}`;
    if (!isOff && !isOn) drawn += points[number + 1] && isDrawn(points[number + 1]) ? `M${round(x)} ${round(y)}` : dot(x, y);
    isOn = !isOff;
  });
  return drawn;
}

function errorPath(line, points, toValueY, stretch) {
  const bar = ([x, y, place]) => {
    const error = line.errors[place];
    if (!(error > 0) || !Number.isFinite(x) || !Number.isFinite(y)) return "";
    const middle = round(x + (line.bar[0] + line.bar[1] / 2) * stretch);
    const [low, high] = [toValueY(line.y[place] - error), toValueY(line.y[place] + error)].map(round);
    const [left, right] = [round(middle - 3), round(middle + 3)];
    return `M${middle} ${low}V${high}M${left} ${low}H${right}M${left} ${high}H${right}`;
  };
  return points.map(bar).join("");
}

// The values of a line between two places of the axis, with those on its way in and out; NaN and null are gaps.
function reach(line, axis, low, high) {
  const at = line.x.map((x) => (x === null ? NaN : inner(axis, x)));
  const found = [];
  at.forEach((x, place) => {
    const y = line.y[place];
    if (y === null) return;
    const error = line.errors[place] ?? 0;
    if (x >= low && x <= high) found.push(y - error, y, y + error);
    const [nextX, nextY] = [at[place + 1], line.y[place + 1]];
    if (nextY === undefined || nextY === null || line.style === "points" || line.style === "bars") return;
    for (const edge of [low, high].filter((place_) => x < place_ && nextX > place_)) {
      found.push(line.style === "steps" ? y : y + ((edge - x) / (nextX - x)) * (nextY - y));
    }
  });
  return found;
}

// The ends of a vertical axis that shows these values, as Rust chooses them: from zero unless most would be empty then.
function ends(axis, values, foot) {
  const known = values.filter((value) => Number.isFinite(value) && (axis.kind !== "logarithmic" || value > 0));
  if (axis.kind === "names" || known.length === 0) return [axis.low, axis.high];
  const all = (foot ? [0, ...known] : known).map((value) => inner(axis, value));
  let [low, high] = [Math.min(...all), Math.max(...all)];
  if (axis.kind === "logarithmic") {
    return low < high ? [low - LOG_MARGIN * (high - low), high + LOG_MARGIN * (high - low)] : [low - 0.5, high + 0.5];
  }
  const margin = (high - low) * MARGIN;
  if (low >= 0 && (low <= high / 2 || low >= high)) [low, high] = [0, high * (1 + MARGIN) || 1];
  else if (high <= 0 && (high >= low / 2 || low >= high)) [low, high] = [low * (1 + MARGIN), 0];
  else [low, high] = [low - margin, high + margin];
  const [least, most] = (axis.limits ?? []).map((end, place) => end ?? [-Infinity, Infinity][place]);
  return [Math.max(low, Math.min(least ?? low, ...all)), Math.min(high, Math.max(most ?? high, ...all))];
}

/* What can be taken from a page: pictures, links, commands. */

function element(parent, name, properties) {
  return parent.appendChild(Object.assign(document.createElement(name), properties));
}

function download(blob, name) {
  const link = Object.assign(document.createElement("a"), { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

// As a file of its own a picture is for paper: dark colours stay on the page.
function written(svg) {
  shade(svg, false);
  const text = new XMLSerializer().serializeToString(svg);
  shade(svg, isDark());
  return new Blob([text], { type: "image/svg+xml" });
}

function savePng(svg, name) {
  const picture = new Image();
  const { width, height } = svg.viewBox.baseVal;
  picture.addEventListener("load", () => {
    const canvas = Object.assign(document.createElement("canvas"), { width: width * PNG_SCALE, height: height * PNG_SCALE });
    canvas.getContext("2d").drawImage(picture, 0, 0, canvas.width, canvas.height);
    canvas.toBlob((blob) => download(blob, name), "image/png");
    URL.revokeObjectURL(picture.src);
  });
  picture.src = URL.createObjectURL(written(svg));
}

// Below a figure: what can be done with it, its address, and its picture as a file.
function addHint(figure, text) {
  const row = element(figure, "div", { className: "hint" });
  const svg = figure.querySelector("svg");
  const name = figure.getAttribute("aria-label").replace(/[^\w.-]+/g, "-") || "figure";
  if (text) element(row, "span", { textContent: text });
  element(row, "a", { href: `#${figure.id}`, textContent: "link to this figure" });
  const save = (words, act) => element(row, "button", { type: "button", textContent: words }).addEventListener("click", act);
  save("save as SVG", () => download(written(svg), `${name}.svg`));
  save("save as PNG", () => savePng(svg, `${name}.png`));
}

async function copy(text, node) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // A page from disk may have no clipboard: then the selection is copied.
    getSelection().selectAllChildren(node);
    document.execCommand("copy");
  }
}

function addCopy(command) {
  const text = command.textContent;
  const words = document.createElement("code");
  words.append(...command.childNodes);
  command.replaceChildren(words);
  const button = element(command, "button", { type: "button", textContent: "copy" });
  button.addEventListener("click", async () => {
    await copy(text, words);
    button.textContent = "copied";
    setTimeout(() => { button.textContent = "copy"; }, 1500);
  });
}

const darkness = () => globalThis.matchMedia?.("(prefers-color-scheme: dark)");
const isDark = () => darkness()?.matches ?? false;

// Cells of a matrix have the colours of light and dark pages in their attributes.
function shade(svg, dark) {
  for (const node of svg.querySelectorAll("[data-dark]")) {
    node.dataset.light ??= node.getAttribute("fill");
    node.setAttribute("fill", dark ? node.dataset.dark : node.dataset.light);
  }
}

// The figure that the address names is seen, even if it is folded away.
function reveal() {
  const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (let node = target; node; node = node.parentElement) if (node.tagName === "DETAILS") node.open = true;
  if (target?.tagName === "FIGURE") target.scrollIntoView();
}

/* A figure. */

class Chart {
  constructor(figure) {
    this.figure = figure;
    this.svg = figure.querySelector("svg");
    this.data = JSON.parse(figure.querySelector("script").textContent);
    // The title would be shown as a tooltip over everything; the figure carries it as its label.
    this.svg.querySelector("title")?.remove();
    this.axis = this.data.x;
    this.full = [this.axis.low, this.axis.high];
    [this.low, this.high] = this.full;
    this.paths = [...this.svg.querySelectorAll("svg path")].map((node) => [node, node.getAttribute("d")]);
    this.ruler = this.svg.querySelector("g.x");
    this.fullRuler = this.ruler.innerHTML;
    this.scales = this.data.panels.map((_, number) => this.svg.querySelector(`g.y[data-panel="${number}"]`));
    this.fullScales = this.scales.map((scale) => scale.innerHTML);
    this.values = figure.appendChild(Object.assign(document.createElement("div"), { className: "values", hidden: true }));
    this.cursor = this.svg.appendChild(this.create("path"));
    this.cursor.setAttribute("stroke", "#555");
    this.cursor.setAttribute("stroke-dasharray", "2 2");
    this.area = this.svg.appendChild(this.create("path"));
    this.area.setAttribute("fill", "#0072b2");
    this.area.setAttribute("fill-opacity", ".15");
    addHint(figure, "drag to zoom \u00b7 Ctrl + wheel or + \u2212 zooms \u00b7 \u2190 \u2192 moves \u00b7 double click or 0 shows all");
    this.listen();
  }

  create(name) {
    return document.createElementNS(this.svg.namespaceURI, name);
  }

  listen() {
    const svg = this.svg;
    svg.addEventListener("pointermove", (event) => this.move(event));
    svg.addEventListener("pointerleave", () => this.hover(null));
    svg.addEventListener("pointerdown", (event) => {
      if (event.button !== 0 || this.axis.kind === "names") return;
      this.start = this.place(event);
      svg.setPointerCapture(event.pointerId);
    });
    svg.addEventListener("pointerup", (event) => this.release(this.place(event)));
    svg.addEventListener("pointercancel", () => this.release(null));
    svg.addEventListener("dblclick", () => this.view(...this.full));
    svg.addEventListener("wheel", (event) => {
      // A plain wheel moves the page, unless the reader has chosen this figure.
      if (!event.ctrlKey && document.activeElement !== this.figure) return;
      event.preventDefault();
      this.zoom(event.deltaY > 0 ? 1.25 : 0.8, this.place(event) / this.data.width);
    }, { passive: false });
    this.figure.addEventListener("keydown", (event) => this.key(event));
  }

  key(event) {
    const step = (this.high - this.low) / 10;
    const acts = {
      "+": () => this.zoom(0.8, 0.5), "=": () => this.zoom(0.8, 0.5), "-": () => this.zoom(1.25, 0.5),
      "0": () => this.view(...this.full), Escape: () => this.view(...this.full),
      ArrowLeft: () => this.shift(-step), ArrowRight: () => this.shift(step),
    };
    if (event.target !== this.figure || event.ctrlKey || event.metaKey || !acts[event.key]) return;
    event.preventDefault();
    acts[event.key]();
  }

  // Pixels of the picture right of the axis, whatever size it is shown in.
  place(event) {
    const box = this.svg.getBoundingClientRect();
    const px = (event.clientX - box.left) * (this.svg.viewBox.baseVal.width / box.width) - this.data.left;
    return Math.min(this.data.width, Math.max(0, px));
  }

  at(px) {
    return this.low + (px / this.data.width) * (this.high - this.low);
  }

  zoom(factor, share) {
    const middle = this.low + share * (this.high - this.low);
    this.view(middle - (middle - this.low) * factor, middle + (this.high - middle) * factor);
  }

  shift(distance) {
    const [low, high] = this.full;
    const within = Math.max(low - this.low, Math.min(high - this.high, distance));
    this.view(this.low + within, this.high + within);
  }

  view(low, high) {
    if (this.axis.kind === "names") return;
    [low, high] = [Math.max(low, this.full[0]), Math.min(high, this.full[1])];
    if (!(high - low > (this.full[1] - this.full[0]) * 1e-6)) return;
    [this.low, this.high] = [low, high];
    this.hover(null);
    const isFull = low === this.full[0] && high === this.full[1];
    for (const part of this.svg.querySelectorAll("svg")) part.setAttribute("overflow", isFull ? "visible" : "hidden");
    if (isFull) {
      for (const [node, original] of this.paths) node.setAttribute("d", original);
      this.ruler.innerHTML = this.fullRuler;
      this.scales.forEach((scale, number) => { scale.innerHTML = this.fullScales[number]; });
      this.spans = undefined;
      return;
    }
    this.spans = this.follow();
    this.data.panels.forEach((panel, number) => this.draw(panel, number));
    this.rule();
    this.data.panels.forEach((panel, number) => this.scale(panel, number));
  }

  // The vertical axes of what is seen of the lines now.
  follow() {
    return this.data.panels.map(({ y, lines }) => {
      const values = lines.flatMap((line) => reach(line, this.axis, this.low, this.high));
      return ends(y, values, lines.some(({ style }) => style === "bars"));
    });
  }

  // The axis of a panel as it is drawn now: the whole one, or that of the zoom.
  vertical(number) {
    const { y } = this.data.panels[number];
    const [low, high] = this.spans?.[number] ?? [y.low, y.high];
    return { ...y, low, high };
  }

  toX(value) {
    return ((inner(this.axis, value) - this.low) / (this.high - this.low)) * this.data.width;
  }

  draw(panel, number) {
    const { height, strip } = panel;
    const y = this.vertical(number);
    const toY = (value) => (1 - (inner(y, value) - y.low) / (y.high - y.low)) * height;
    const within = (value) => (y.kind === "logarithmic" && !(value > 0) ? height : Math.min(height, Math.max(0, toY(value))));
    const stretch = (this.full[1] - this.full[0]) / (this.high - this.low);
    const plot = this.svg.querySelector(`svg.plot[data-panel="${number}"]`);
    panel.lines.forEach((line, place) => {
      const points = visible(line, (x) => this.toX(x), toY, this.data.width);
      const find = (kind) => plot.querySelector(`path.${kind}[data-line="${place}"]`);
      find("line").setAttribute("d", path(line, points, round(within(0)), stretch));
      find("error")?.setAttribute("d", errorPath(line, points, within, stretch));
    });
    const marks = [...this.svg.querySelectorAll(`svg.marks[data-panel="${number}"] path.mark`)];
    const hairlines = [...this.svg.querySelectorAll(`svg.marks[data-panel="${number}"] path.hairlines`)];
    panel.marks.forEach((kind, row) => {
      const inView = kind.x.map((x) => round(this.toX(x))).filter((x) => x >= 0 && x <= this.data.width);
      const middle = (strip / panel.marks.length) * (row + 0.5);
      marks[row].setAttribute("d", inView.map((x) => SHAPES[kind.shape](x, middle)).join(""));
      const lines = inView.length <= 60 ? inView.map((x) => `M${x} ${strip}V${strip + height}`) : [];
      hairlines[row].setAttribute("d", lines.join(""));
    });
  }

  rule() {
    const { left, width, bottom, panels } = this.data;
    this.ruler.replaceChildren();
    for (const [at, label] of ticks(this.axis, this.low, this.high, Math.round(width / PX_PER_TICK))) {
      const x = round(left + ((at - this.low) / (this.high - this.low)) * width);
      const grid = this.ruler.appendChild(this.create("path"));
      grid.setAttribute("d", panels.map((panel) => `M${x} ${panel.top}v${panel.height}`).join(""));
      grid.setAttribute("stroke", "#e4e4e4");
      const notch = this.ruler.appendChild(this.create("path"));
      notch.setAttribute("d", panels.map((panel) => `M${x} ${round(panel.top + panel.height)}v5`).join(""));
      notch.setAttribute("stroke", "#555");
      const text = this.ruler.appendChild(this.create("text"));
      Object.entries({ x, y: bottom + 18, "text-anchor": "middle" }).forEach(([name, value]) => text.setAttribute(name, value));
      text.textContent = label;
    }
  }

  // Ticks and lines of a vertical axis, in the place of those that Rust drew.
  scale(panel, number) {
    const { left, width } = this.data;
    const y = this.vertical(number);
    const group = this.scales[number];
    group.replaceChildren();
    const add = (name, attributes) => {
      const node = group.appendChild(this.create(name));
      Object.entries(attributes).forEach(([key, value]) => node.setAttribute(key, value));
      return node;
    };
    for (const [at, label] of ticks(y, y.low, y.high, Math.floor(panel.height / 36))) {
      const place = round(panel.top + (1 - (at - y.low) / (y.high - y.low)) * panel.height);
      add("path", { d: `M${left} ${place}h${width}`, stroke: "#e4e4e4" });
      add("path", { d: `M${left} ${place}h-5`, stroke: "#555" });
      add("text", { x: left - 8, y: place + 4, "text-anchor": "end" }).textContent = label;
    }
  }

  move(event) {
    const px = this.place(event);
    if (this.start !== undefined) {
      const [from, to] = [Math.min(this.start, px), Math.max(this.start, px)].map((at) => round(at + this.data.left));
      this.area.setAttribute("d", this.data.panels.map(({ top, height }) => `M${from} ${top}H${to}v${height}H${from}z`).join(""));
    }
    this.hover(px, event);
  }

  release(px) {
    this.area.removeAttribute("d");
    const start = this.start;
    this.start = undefined;
    if (start === undefined || px === null || Math.abs(px - start) < 5) return;
    this.view(this.at(Math.min(start, px)), this.at(Math.max(start, px)));
  }

  // The abscissa of the point that is nearest to a place, of all lines; the place itself where there is no point.
  snap(x) {
    let [best, least] = [x, Infinity];
    for (const line of this.data.panels.flatMap(({ lines }) => lines)) {
      line.x.forEach((value, place) => {
        if (value === null || line.y[place] === null) return;
        const at = inner(this.axis, value);
        const distance = Math.abs(at - x);
        if (distance < least && at >= this.low && at <= this.high) [best, least] = [at, distance];
      });
    }
    return best;
  }

  // The places of the values to show at an abscissa: of steps the last one before, which holds until the next; of all else
  // those that are there, or so near that they are drawn there.
  under(line, x) {
    const reach = (this.high - this.low) / this.data.width;
    const known = line.x.map((value, place) => [value === null ? NaN : inner(this.axis, value), place]);
    if (line.style === "steps") {
      const before = known.filter(([at]) => at <= x + reach / 2);
      return before.length === 0 || x > known[known.length - 1][0] + reach ? [] : [before[before.length - 1][1]];
    }
    const near = known.filter(([at]) => Math.abs(at - x) <= reach);
    if (line.style === "points") return near.map(([, place]) => place);
    near.sort(([a], [b]) => Math.abs(a - x) - Math.abs(b - x));
    return near.slice(0, 1).map(([, place]) => place);
  }

  // What is shown at an abscissa, and the marks at the pointer: colour, name, value. Of several panels, each has its name.
  rows(x, px) {
    const rows = [["", this.axis.label, shown(this.axis, outer(this.axis, x))]];
    for (const { y, lines, marks } of this.data.panels) {
      const before = rows.length;
      for (const line of lines) {
        const values = this.under(line, x).filter((place) => line.y[place] !== null);
        if (values.length === 0) continue;
        const text = values.map((place) => shown(y, line.y[place], line.errors[place], VALUE_DIGITS)).join(", ");
        rows.push([line.colour, line.label || y.label, text]);
      }
      for (const mark of marks) {
        const near = mark.x.filter((value) => Math.abs(this.toX(value) - px) < POINTER_PX / 3);
        if (near.length > 0) rows.push([mark.colour, mark.label, near.slice(0, 3).map((value) => shown(this.axis, value)).join(", ")]);
      }
      if (this.data.panels.length > 1 && rows.length > before) rows.splice(before, 0, ["", y.label, ""]);
    }
    return rows;
  }

  hover(px, event) {
    this.values.hidden = px === null;
    if (px === null) {
      this.cursor.removeAttribute("d");
      return;
    }
    const x = this.snap(this.at(px));
    const at = round(this.data.left + this.toX(outer(this.axis, x)));
    this.cursor.setAttribute("d", this.data.panels.map(({ top, height }) => `M${at} ${top}v${height}`).join(""));
    this.tell(this.rows(x, px), event);
  }

  tell(rows, event) {
    this.values.replaceChildren(...rows.map(([colour, label, value]) => {
      const row = Object.assign(document.createElement("div"), { className: colour || value ? "" : "panel" });
      const name = row.appendChild(document.createElement("span"));
      if (colour) {
        const sample = name.appendChild(document.createElement("i"));
        sample.dataset.colour = colour;
        sample.style.background = colour;
      }
      name.append(label);
      row.appendChild(document.createElement("b")).textContent = value;
      return row;
    }));
    const box = this.figure.getBoundingClientRect();
    const isRight = event.clientX - box.left > box.width / 2;
    const left = event.clientX - box.left + (isRight ? -16 - this.values.offsetWidth : 16);
    this.values.style.left = `${Math.max(0, left)}px`;
    this.values.style.top = `${Math.max(0, event.clientY - box.top + 12)}px`;
  }
}

/* Tables. */

function sortable(table) {
  const heads = [...table.querySelectorAll("thead th")];
  const key = (row, column) => (row.cells[column]?.textContent ?? "").replace(/^[\u2713\u2717]\s*/, "").replace("\u2212", "-").trim();
  heads.forEach((head, column) => {
    head.tabIndex = 0;
    const sort = () => {
      const direction = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", direction > 0 ? "ascending" : "descending");
      const isNumber = head.classList.contains("number");
      const value = (row) => (isNumber ? Number.parseFloat(key(row, column)) : key(row, column));
      const rows = [...table.tBodies[0].rows];
      rows.sort((a, b) => {
        const [left, right] = [value(a), value(b)];
        // What is no number stays below, whichever way the others go.
        if (Number.isNaN(left) || Number.isNaN(right)) return Number.isNaN(left) - Number.isNaN(right);
        return direction * (isNumber ? left - right : left.localeCompare(right, undefined, { numeric: true }));
      });
      table.tBodies[0].append(...rows);
    };
    head.addEventListener("click", sort);
    head.addEventListener("keydown", (event) => event.key === "Enter" && sort());
  });
}

const matrices = [...document.querySelectorAll("figure.matrix")];
const shadeAll = () => matrices.forEach((figure) => shade(figure.querySelector("svg"), isDark()));
document.querySelectorAll("figure.chart").forEach((figure) => new Chart(figure));
matrices.forEach((figure) => addHint(figure, ""));
document.querySelectorAll("pre.command").forEach(addCopy);
shadeAll();
darkness()?.addEventListener("change", shadeAll);
addEventListener("hashchange", reveal);
if (globalThis.location?.hash) reveal();
document.querySelectorAll("table").forEach(sortable);
// Paper is light, and has everything.
addEventListener("beforeprint", () => {
  document.querySelectorAll("details").forEach((group) => { group.open = true; });
  matrices.forEach((figure) => shade(figure.querySelector("svg"), false));
});
addEventListener("afterprint", shadeAll);
