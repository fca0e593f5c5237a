// Draws the figures of a page in its colours and at its width, and filters its lists. A classic script: no server is needed.
(function () {
  "use strict";

  // Filters ----------------------------------------------------------------------------------------------------------

  function filter(inputs) {
    const wanted = inputs.map((input) => input.value.trim().toLowerCase().split(/\s+/)).flat().filter(Boolean);
    let left = 0;
    for (const row of document.querySelectorAll(inputs[0].dataset.filter)) {
      const words = " " + (row.dataset.words || "");
      row.hidden = !wanted.every((word) => (word.includes(":") ? (words + " ").includes(" " + word + " ") : words.includes(word)));
      if (!row.hidden) left += 1;
    }
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

  // Figures ----------------------------------------------------------------------------------------------------------

  const look = document.getElementById("look");
  if (!look || !window.vegaEmbed) return;
  const { theme, palette } = JSON.parse(look.textContent);

  // The colours of figures, exchanged for those of the style sheet in the present colour scheme.
  function coloured(value, colours) {
    if (typeof value === "string") return colours[value] || value;
    if (Array.isArray(value)) return value.map((each) => coloured(each, colours));
    if (value && typeof value === "object") {
      return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, key === "values" ? each : coloured(each, colours)]));
    }
    return value;
  }

  function present() {
    const style = getComputedStyle(document.documentElement);
    return Object.fromEntries(Object.entries(palette).map(([colour, name]) => [colour, style.getPropertyValue("--" + name).trim()]));
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
      if (typeof made.width !== "object") made.width = width;
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
    const colour = layer.encoding && layer.encoding.color;
    if (colour && colour.scale && Array.isArray(colour.scale.domain) && colour.legend !== null) {
      const longest = Math.max(...colour.scale.domain.map((each) => String(each).length));
      const columns = Math.max(1, Math.floor((width + 40) / (7.5 * longest + 44)));
      made.encoding = { ...layer.encoding, color: { ...colour, legend: { ...colour.legend, columns } } };
    }
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

  class Figure {
    constructor(chart) {
      this.chart = chart;
      this.spec = JSON.parse(chart.parentElement.querySelector("script.spec").textContent);
      this.wanted = false;
      this.width = 0;
      this.result = null;
      this.button = chart.parentElement.querySelector("button.save");
      if (this.button) this.button.addEventListener("click", () => this.save());
    }

    async draw() {
      this.wanted = true;
      const room = this.chart.clientWidth;
      if (!room) return;
      this.width = room;
      let width = Math.max(room - 60, 160);
      // Labels take what they take: draw once, see, and draw again at the width that is left.
      for (let attempt = 0; attempt < 3; attempt += 1) {
        await this.embed(width);
        const svg = this.chart.querySelector("svg");
        const over = svg ? svg.getBoundingClientRect().width - room : 0;
        const natural = svg ? Number(svg.getAttribute("width")) - room : 0;
        if (Math.abs(Math.max(over, natural)) < 3) break;
        width = Math.max(width - Math.max(over, natural), 120);
      }
      this.chart.dataset.drawn = "true";
      if (this.button) this.button.hidden = false;
    }

    async embed(width) {
      const columns = width < 420 ? 2 : width < 640 ? 3 : 5; // for drawings that name no colours
      const colours = present();
      const sized = { legend: { ...theme.legend, columns }, axis: { ...theme.axis, titleLimit: width + 44 } };
      const config = coloured(merged({ ...theme, ...sized }, this.spec.config || {}), colours);
      const spec = { ...coloured(fitted(this.spec, width), colours), config };
      if (this.result) this.result.finalize();
      this.result = await window.vegaEmbed(this.chart, spec, { mode: "vega-lite", renderer: "svg", actions: false, tooltip: { theme: "page" } });
    }

    async save() {
      const svg = await this.result.view.toSVG();
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
    queue = queue.then(() => figure.draw()).catch((problem) => console.error(problem));
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
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    for (const figure of figures.values()) if (figure.wanted) draw(figure);
  });
  // Those further down are drawn when there is time, so that the page can be printed.
  window.addEventListener("load", () => setTimeout(() => {
    for (const figure of figures.values()) if (!figure.wanted && figure.chart.clientWidth) draw(figure);
  }, 1500));
})();
