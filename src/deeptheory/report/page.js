// Draws the figures of a page in its colours and at its width, and filters its lists. A classic script: no server is needed.
(function () {
  "use strict";

  // Filters ----------------------------------------------------------------------------------------------------------

  // Accents and dashes are as people type them: gronwall finds Grönwall, marchenko-pastur Marchenko–Pastur.
  function plain(text) {
    const bare = text.toLowerCase().normalize("NFD").replace(/[\u0300-\u036f]/g, "").replace(/ł/g, "l");
    return bare.replace(/[\u2010-\u2015\u2212-]/g, " ");
  }

  // A word is found anywhere; a number only where it begins and ends one (5.4 finds 5.4.1, not 15.4 or 5.41).
  function finder(word) {
    const escaped = word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
    return new RegExp((/^\d/.test(word) ? "(?<![\\d.])" : "") + escaped + (/\d$/.test(word) ? "(?!\\d)" : ""));
  }

  const known = new WeakMap();
  function wordsOf(row) {
    if (!known.has(row)) known.set(row, plain(row.dataset.words || ""));
    return known.get(row);
  }

  function filter(inputs) {
    const chosen = inputs.filter((input) => input.matches("select") && input.value).map((input) => input.value);
    const typed = inputs.filter((input) => !input.matches("select")).map((input) => input.value);
    const wanted = plain(typed.join(" ")).split(/\s+/).filter(Boolean).map(finder);
    const rows = Array.from(document.querySelectorAll(inputs[0].dataset.filter));
    let left = 0;
    for (const row of rows) {
      const marks = (row.dataset.marks || "").split(" ");
      row.hidden = !(chosen.every((mark) => marks.includes(mark)) && wanted.every((each) => each.test(wordsOf(row))));
      if (!row.hidden) left += 1;
    }
    const filtered = chosen.length + wanted.length > 0;
    for (const line of document.querySelectorAll(".count")) line.textContent = filtered ? `${left} of ${rows.length}` : "";
    for (const chapter of document.querySelectorAll(".chapter")) {
      chapter.hidden = !chapter.querySelector(".item:not([hidden])");
    }
    for (const line of document.querySelectorAll(".nothing")) line.hidden = left > 0;
  }

  const inputs = Array.from(document.querySelectorAll("[data-filter]"));
  for (const input of inputs) input.addEventListener("input", () => filter(inputs));

  // On a phone the list of chapters would fill the first screen.
  if (matchMedia("(max-width: 60rem)").matches) {
    for (const list of document.querySelectorAll(".contents details")) list.open = false;
  }

  // A link to an item that is filtered away, or folded, shows it.
  function reveal() {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    if (target.hidden || target.closest("[hidden]")) {
      for (const input of inputs) input.value = "";
      filter(inputs);
      target.scrollIntoView();
    }
    const errata = target.querySelector("details.errata");
    if (errata) errata.open = true;
  }
  window.addEventListener("hashchange", reveal);
  reveal();

  // A formula wider than the page is scrolled by keys too.
  function reachable() {
    for (const box of document.querySelectorAll("p, h3, dd, figcaption, .said, .table-wrap")) {
      const scrolls = box.scrollWidth > box.clientWidth + 1 && getComputedStyle(box).overflowX === "auto";
      if (scrolls) box.tabIndex = 0;
      else if (box.hasAttribute("tabindex")) box.removeAttribute("tabindex");
    }
  }
  window.addEventListener("resize", reachable);
  document.addEventListener("toggle", reachable, true);
  reachable();

  // What is folded is printed too, but for pages of code; then it is folded again.
  let unfolded = [];
  window.addEventListener("beforeprint", () => {
    unfolded = [...document.querySelectorAll("details:not(.source details):not([open])")];
    for (const folded of unfolded) folded.open = true;
  });
  window.addEventListener("afterprint", () => {
    for (const folded of unfolded) folded.open = false;
  });

  // Figures ----------------------------------------------------------------------------------------------------------

  const look = document.getElementById("look");
  if (!look || !window.vegaEmbed) return;
  const { theme, palette } = JSON.parse(look.textContent);

  // Records that were packed: fields that all share, columns, columns whose values take turns, and listed ones.
  function records({ count, fields, same, each, turns, listed }) {
    const at = (field, place) => {
      if (Object.hasOwn(same, field)) return same[field];
      if (Object.hasOwn(each, field)) return each[field][place];
      if (!Object.hasOwn(turns, field)) return listed[field][0][listed[field][1][place]];
      const [values, times] = turns[field];
      return values[Math.floor(place / times) % values.length];
    };
    return Array.from({ length: count }, (_, place) => Object.fromEntries(fields.map((field) => [field, at(field, place)])));
  }

  function unpacked(value) {
    if (Array.isArray(value)) return value.map(unpacked);
    if (!value || typeof value !== "object") return value;
    const open = ([key, each]) => [key, key !== "values" ? unpacked(each) : Array.isArray(each) ? each : records(each)];
    return Object.fromEntries(Object.entries(value).map(open));
  }

  // A packed specification as the stop of a slider changes it: pairs of a path and what stands there, or a path to leave out.
  function changed(spec, changes) {
    for (const [path, ...value] of changes) {
      const holder = path.slice(0, -1).reduce((part, name) => part[name], spec);
      if (value.length) [holder[path.at(-1)]] = value;
      else delete holder[path.at(-1)];
    }
    return spec;
  }

  // The colours of figures, exchanged for those of the style sheet.
  function coloured(value, colours) {
    if (typeof value === "string") return colours[value] || value;
    if (Array.isArray(value)) return value.map((each) => coloured(each, colours));
    if (value && typeof value === "object") {
      return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, key === "values" ? each : coloured(each, colours)]));
    }
    return value;
  }

  // As properties, not values: figures follow the colour scheme, and print in that of paper, without being drawn again.
  const properties = Object.fromEntries(Object.entries(palette).map(([colour, name]) => [colour, `var(--${name})`]));

  function valued(svg) {
    const style = getComputedStyle(document.documentElement);
    return svg.replace(/var\((--[\w-]+)\)/g, (_, name) => style.getPropertyValue(name).trim());
  }

  // Make every panel this wide, side by side only where there is room, and keep words and legends inside.
  function fitted(spec, width) {
    const made = { ...spec };
    if (typeof made.title === "string") made.title = lines(made.title, width);
    if (made.hconcat && width < 480) {
      made.vconcat = made.hconcat;
      delete made.hconcat;
    }
    if (made.vconcat) made.vconcat = made.vconcat.map((each) => fitted(each, width));
    else if (made.hconcat) made.hconcat = made.hconcat.map((each) => fitted(each, width / made.hconcat.length - 30));
    else if (made.layer || made.mark) {
      // A panel with a width of its own has proportions to keep.
      const own = typeof made.width === "number" ? Math.min(made.width, width) : width;
      if (typeof made.width === "number") made.height = Math.round((made.height * own) / made.width);
      if (typeof made.width !== "object") made.width = own;
      if (made.layer) made.layer = made.layer.map((each) => words({ ...each, width: undefined }, width));
      else Object.assign(made, words(made, width));
    }
    return made;
  }

  function lines(title, width) {
    const found = [""];
    for (const word of title.split(" ")) {
      if (found.at(-1) && 7.6 * (found.at(-1).length + word.length) > width) found.push(word);
      else found[found.length - 1] += (found.at(-1) && " ") + word;
    }
    return found.length > 1 ? found : title;
  }

  function words(layer, width) {
    const made = { ...layer };
    if (layer.mark && layer.mark.type === "text" && layer.mark.limit) {
      made.mark = { ...layer.mark, limit: Math.min(layer.mark.limit, Math.max(width - 8, 40)) };
    }
    if (layer.mark && layer.mark.type === "text" && layer.encoding.x.sort) { // a table: its numbers keep apart on a phone
      const fitting = width / layer.encoding.x.sort.length / (layer.mark.lineBreak ? 5.2 : 3.4);
      made.mark = { ...made.mark, fontSize: Math.max(8.5, Math.min(layer.mark.fontSize || 12.5, fitting)) };
    }
    const shade = layer.encoding && layer.encoding.opacity;
    if (shade && shade.legend) {
      const columns = Math.max(1, Math.floor(width / 52));
      made.encoding = { ...layer.encoding, opacity: { ...shade, legend: { ...shade.legend, columns } } };
    }
    const colour = layer.encoding && layer.encoding.color;
    if (colour && colour.scale && Array.isArray(colour.scale.domain) && colour.legend !== null) {
      const longest = Math.max(...colour.scale.domain.map((each) => String(each).length));
      const columns = Math.max(1, Math.floor((width + 40) / (7.5 * longest + 44)));
      made.encoding = { ...made.encoding, color: { ...colour, legend: { ...colour.legend, columns, labelLimit: width + 10 } } };
    }
    return made;
  }

  // What is wrong beside the truth, taken out of layers and legends.
  function without(rivals, value) {
    if (Array.isArray(value)) {
      const kept = value.filter((each) => !(each && typeof each === "object" && /^rival_/.test(each.name || "")));
      return kept.map((each) => without(rivals, each));
    }
    if (!value || typeof value !== "object") return value;
    const made = Object.fromEntries(Object.entries(value).map(([key, each]) => [key, key === "values" ? each : without(rivals, each)]));
    if (Array.isArray(made.domain) && Array.isArray(made.range) && made.domain.length === made.range.length) {
      made.range = made.range.filter((_, place) => !rivals.includes(made.domain[place]));
      made.domain = made.domain.filter((each) => !rivals.includes(each));
    }
    return made;
  }

  // Reliefs ----------------------------------------------------------------------------------------------------------

  const relief = /^relief_(floor|faces|lines|dots|words)_([0-9a-f]{8})$/;

  // The records of all reliefs of a specification, by relief and part.
  function reliefs(spec, found = {}) {
    const [, part, own] = relief.exec((spec.data && spec.data.name) || "") || [];
    if (own) (found[own] = found[own] || {})[part] = spec.data.values;
    for (const each of [...(spec.hconcat || []), ...(spec.vconcat || []), ...(spec.layer || [])]) reliefs(each, found);
    return found;
  }

  // The faces of a grid as lists of their corners, as `_faces` of reliefs.py; made once for all angles.
  const made = new WeakMap();
  function faces(grid) {
    if (made.has(grid)) return made.get(grid);
    const { x, y, z } = grid;
    const top = grid.top === null ? Infinity : grid.top;
    const found = [];
    for (let i = 0; i + 1 < y.length; i += 1) {
      for (let j = 0; j + 1 < x.length; j += 1) {
        const corners = [[i, j], [i, j + 1], [i + 1, j + 1], [i + 1, j]].map(([p, q]) => ({ a: x[q], b: y[p], c: z[p][q] }));
        const face = corners.some(({ c }) => c === null) ? [] : cut(corners, top);
        if (face.length < 3) continue;
        const [one, aside, , behind] = corners;
        const normal = [(one.c - aside.c) / (aside.a - one.a), (one.c - behind.c) / (behind.b - one.b), 1];
        const lit = (-0.5 * normal[0] - 0.3 * normal[1] + 0.8) / Math.hypot(...normal);
        const height = (face.reduce((sum, { c }) => sum + c, 0) / face.length / 0.45 + 1) / 2;
        const shade = Math.max(0, Math.min(7, Math.floor(8 * (0.7 * height + 0.3 * (1 - lit)))));
        found.push(face.map((corner, place) => ({ ...corner, place, shade })));
      }
    }
    made.set(grid, found);
    return found;
  }

  function cut(corners, top) {
    return corners.flatMap((one, place) => {
      const other = corners[(place + 1) % corners.length];
      const share = (top - one.c) / (other.c - one.c);
      const crossing = { a: one.a + share * (other.a - one.a), b: one.b + share * (other.b - one.b), c: top };
      return [...(one.c <= top ? [one] : []), ...(share > 0 && share < 1 ? [crossing] : [])];
    });
  }

  // Where the parts of a relief are on paper, by name: as `seen` of reliefs.py, which says why.
  function seen(own, parts, grid, { turn, tilt }) {
    const [turned, tilted] = [(turn * Math.PI) / 180, (tilt * Math.PI) / 180];
    const away = ({ a, b }) => Math.sin(turned) * a + Math.cos(turned) * b;
    const drawn = (each) => ({
      ...each,
      x: Math.cos(turned) * each.a - Math.sin(turned) * each.b,
      y: Math.sin(tilted) * away(each) + Math.cos(tilted) * each.c,
    });
    const distance = (corners) => corners.reduce((sum, each) => sum + away(each), 0) / corners.length;
    const ordered = faces(grid).map((face) => [distance(face), face.map(drawn)]).sort((one, other) => other[0] - one[0]);
    const pale = (dot) => ({ ...dot, opacity: ordered.some(([far, face]) => far < away(dot) - 0.1 && inside(dot, face)) ? 0.3 : 1 });
    const near = (each) => (away(each) > 0 ? { ...each, a: -each.a, b: -each.b } : each);
    const shown = {
      floor: () => parts.floor.map(drawn),
      faces: () => ordered.flatMap(([, corners], place) => corners.map((each) => ({ ...each, face: place }))),
      lines: () => parts.lines.map(drawn),
      dots: () => parts.dots.map(drawn).map(pale),
      words: () => parts.words.map(near).map(drawn),
    };
    return Object.fromEntries(Object.keys(parts).map((part) => [`relief_${part}_${own}`, shown[part]()]));
  }

  function inside({ x, y }, corners) {
    let odd = false;
    corners.forEach((one, place) => {
      const other = corners[(place + 1) % corners.length];
      if (one.y > y !== other.y > y && one.x + ((y - one.y) / (other.y - one.y)) * (other.x - one.x) > x) odd = !odd;
    });
    return odd;
  }

  // All parts of all reliefs at these angles, by the names of their records.
  function turned(spec, angles) {
    return Object.assign({}, ...Object.entries(reliefs(spec)).map(([own, parts]) => seen(own, parts, spec.usermeta.grids[own], angles)));
  }

  function replaced(spec, values) {
    const made = { ...spec };
    for (const part of ["hconcat", "vconcat", "layer"]) if (made[part]) made[part] = made[part].map((each) => replaced(each, values));
    if (made.data && values[made.data.name]) made.data = { ...made.data, values: values[made.data.name] };
    return made;
  }

  function merged(base, own) {
    const made = { ...base };
    for (const [name, value] of Object.entries(own)) {
      const both = value && base[name] && typeof value === "object" && typeof base[name] === "object" && !Array.isArray(value);
      made[name] = both ? { ...base[name], ...value } : value;
    }
    return made;
  }

  // Quotes too: a tooltip with a field called image becomes an element with that address.
  function escaped(value) {
    return String(value).replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);
  }

  class Figure {
    constructor(chart) {
      this.chart = chart;
      this.packed = chart.parentElement.querySelector("script.spec");
      this.wanted = false;
      this.width = 0;
      this.result = null;
      this.button = chart.parentElement.querySelector("button.save");
      if (this.button) this.button.addEventListener("click", () => this.save());
      this.rivals = chart.parentElement.querySelector(".rivals");
      if (this.rivals) {
        this.rivals.hidden = false;
        this.rivals.querySelector("input").addEventListener("change", () => draw(this));
      }
      const turning = chart.parentElement.querySelector(".turning");
      if (turning) this.turning(turning);
      const sliders = Array.from(chart.parentElement.querySelectorAll(".slider"));
      for (const each of sliders) {
        each.hidden = false;
        each.querySelector("input").addEventListener("input", () => this.slide(sliders, each));
      }
    }

    // Sliders turn the reliefs of a picture, and so does dragging one; a finger only turns, so that the page scrolls.
    turning(controls) {
      controls.hidden = false;
      this.angles = Object.fromEntries(Array.from(controls.querySelectorAll("input"), (input) => [input.name, input]));
      for (const input of Object.values(this.angles)) input.addEventListener("input", () => this.turn());
      let held = null;
      this.chart.addEventListener("pointerdown", (event) => {
        if (event.button || !event.target.closest('[class*="relief_faces_"]')) return;
        held = { x: event.clientX, y: event.clientY, turn: Number(this.angles.turn.value), tilt: Number(this.angles.tilt.value) };
        this.chart.setPointerCapture(event.pointerId);
        event.preventDefault();
      });
      this.chart.addEventListener("pointermove", (event) => {
        if (!held) return;
        const around = held.turn + (event.clientX - held.x) / 2;
        this.angles.turn.value = around - 360 * Math.round(around / 360);
        if (event.pointerType === "mouse") this.angles.tilt.value = held.tilt + (event.clientY - held.y) / 2;
        this.turn();
      });
      for (const end of ["pointerup", "pointercancel"]) this.chart.addEventListener(end, () => { held = null; });
    }

    get angle() {
      return { turn: Number(this.angles.turn.value), tilt: Number(this.angles.tilt.value) };
    }

    // Faces are moved where they stand: to give the view new records takes ten times as long, and is left for saving.
    turn() {
      for (const input of Object.values(this.angles)) input.setAttribute("aria-valuetext", `${input.value} degrees`);
      if (this.moving || !this.result) return;
      this.moving = true;
      requestAnimationFrame(() => {
        this.moving = false;
        this.exchange((name, records) => {
          if (!name.startsWith("relief_faces_")) return true;
          this.move(name, records);
          return false;
        });
      });
    }

    // Give the view the records of its reliefs at the present angle, of those that are wanted.
    exchange(wanted) {
      for (const [name, records] of Object.entries(turned(this.spec, this.angle))) {
        if (wanted(name, records)) this.result.view.data(name, records);
      }
      this.result.view.run();
    }

    move(name, records) {
      const group = this.chart.querySelector(`.${name}_pathgroup`);
      if (!group) return;
      const [, width, height] = /h([\d.]+)v([\d.]+)/.exec(group.querySelector(".background").getAttribute("d")).map(Number);
      const place = ({ x, y }) => `${(((x / 1.45 + 1) / 2) * width).toFixed(2)},${(((1 - y / 1.3) / 2) * height).toFixed(2)}`;
      const paths = Array.from(group.querySelectorAll(`.${name}_marks path`));
      const drawn = paths.map(() => ({ corners: [] }));
      for (const each of records) {
        drawn[each.face].corners.push(place(each));
        drawn[each.face].shade = each.shade;
      }
      paths.forEach((path, rank) => {
        path.setAttribute("d", `M${drawn[rank].corners.join("L")}Z`);
        path.setAttribute("fill", `var(--relief-${drawn[rank].shade + 1})`);
      });
    }

    // A slider moves the picture and says the verdict there; others go back to where the run stands.
    slide(sliders, moved) {
      for (const each of sliders) {
        const input = each.querySelector("input");
        if (each !== moved) input.value = input.defaultValue;
        const place = Number(input.value);
        const stops = Array.from(each.querySelectorAll(".stop"));
        stops.forEach((stop, at) => { stop.hidden = each !== moved || at !== place; });
        each.classList.toggle("moved", input.value !== input.defaultValue); // then it is printed too
        each.querySelector("output").textContent = stops[place].dataset.value;
        input.setAttribute("aria-valuetext", stops[place].dataset.value);
        const stop = each === moved && JSON.parse(each.querySelector("script.stops").textContent)[place];
        if (stop) this.spec = unpacked(changed(JSON.parse(this.packed.textContent), stop));
      }
      draw(this);
    }

    // The specification with or without rivals; unpacked when it is first drawn.
    get shown() {
      this.spec = this.spec || unpacked(JSON.parse(this.packed.textContent));
      const all = !this.rivals || this.rivals.querySelector("input").checked;
      const spec = this.angles ? replaced(this.spec, turned(this.spec, this.angle)) : this.spec;
      return all || !spec.usermeta || !spec.usermeta.rivals ? spec : without(spec.usermeta.rivals, spec);
    }

    async draw() {
      this.wanted = true;
      // A folded figure is drawn at the width it will have, so that it can be printed.
      const room = this.chart.clientWidth || this.chart.closest("section").clientWidth;
      if (!room) return;
      this.width = room;
      this.chart.style.minHeight = `${this.chart.clientHeight}px`; // the page does not jump while it is drawn again
      let width = Math.max(room - 60, 160);
      let columns = width < 420 ? 2 : width < 640 ? 3 : 5; // of legends in drawings that name no colours
      let before = 0;
      // Labels take what they take: draw once, see, and draw again at the width that is left, or with a longer legend.
      for (let attempt = 0; attempt < 5; attempt += 1) {
        await this.embed(width, columns);
        const svg = this.chart.querySelector("svg");
        const over = svg ? svg.getBoundingClientRect().width - room : 0;
        const natural = svg ? Number(svg.getAttribute("width")) - room : 0;
        // Narrower than the room and no wider than before: it has a width of its own.
        if (Math.abs(Math.max(over, natural)) < 3 || (natural < 0 && natural === before)) break;
        before = natural;
        if (natural > 40 && columns > 1) columns -= 1;
        else width = Math.max(width - Math.max(over, natural), 120);
      }
      this.chart.dataset.drawn = "true";
      this.chart.style.minHeight = "";
      if (this.button) this.button.hidden = false;
    }

    async embed(width, columns) {
      const sized = { legend: { ...theme.legend, columns }, axis: { ...theme.axis, titleLimit: width + 44 } };
      const shown = this.shown;
      const config = coloured(merged({ ...theme, ...sized }, shown.config || {}), properties);
      const spec = { ...coloured(fitted(shown, width), properties), config };
      if (this.result) this.result.finalize();
      // Expressions are interpreted and styles are the page's own: its policy lets no text become a script or a sheet.
      const tooltip = { theme: "page", disableDefaultStyle: true, sanitize: escaped };
      const plainly = { ast: true, defaultStyle: false, actions: false };
      this.result = await window.vegaEmbed(this.chart, spec, { mode: "vega-lite", renderer: "svg", tooltip, ...plainly });
    }

    async save() {
      if (this.angles) this.exchange(() => true);
      const svg = valued(await this.result.view.toSVG());
      const link = document.createElement("a");
      link.href = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
      link.download = (location.pathname.split("/").pop() || "figure").replace(".html", "") + ".svg";
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    }
  }

  const figures = new Map(Array.from(document.querySelectorAll(".chart")).map((chart) => [chart, new Figure(chart)]));
  let queue = Promise.resolve();
  const draw = (figure) => {
    if (figure.queued) return; // it will be drawn as it then stands
    figure.queued = true;
    queue = queue.then(() => {
      figure.queued = false;
      return figure.draw();
    }).catch((problem) => console.error(problem));
  };

  const near = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (entry.isIntersecting) {
        near.unobserve(entry.target);
        draw(figures.get(entry.target));
      }
    }
  }, { rootMargin: "600px" });
  const sized = new ResizeObserver((entries) => {
    for (const entry of entries) {
      const figure = figures.get(entry.target);
      if (figure.wanted && figure.width && Math.abs(entry.target.clientWidth - figure.width) > 3) draw(figure);
    }
  });
  for (const chart of figures.keys()) {
    near.observe(chart);
    sized.observe(chart);
  }
  // Those further down, and folded ones, are drawn when there is time, so that the page can be printed.
  window.addEventListener("load", () => setTimeout(() => {
    for (const figure of figures.values()) if (!figure.wanted) draw(figure);
  }, 1500));
})();
