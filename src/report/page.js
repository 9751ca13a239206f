// SPDX-License-Identifier: MIT
//
// Draws the pictures of a report. Expressions are interpreted (ast), so that the page's policy need not
// allow eval; text follows the page's colour, so that light, dark and paper need no second drawing.
"use strict";
(() => {
  const specs = JSON.parse(document.getElementById("pictures").textContent);
  const faint = "rgba(128, 128, 128, 0.28)";
  const font = "system-ui, 'Segoe UI', Roboto, 'Liberation Sans', sans-serif";

  function config(width) {
    const text = { labelColor: "currentColor", titleColor: "currentColor", labelFont: font, titleFont: font,
                   labelFontSize: 12, titleFontSize: 12, titleFontWeight: "normal" };
    return {
      background: null,
      font: font,
      view: { stroke: null },
      axis: { ...text, domainColor: faint, tickColor: faint, gridColor: faint },
      legend: { ...text, orient: "bottom", columns: Math.max(1, Math.floor(width / 190)), labelLimit: 0, symbolSize: 90,
                symbolStrokeWidth: 1 },
      header: { ...text },
      text: { font: font },
      mark: { tooltip: null },
    };
  }

  // Small multiples stand beside each other as far as there is room.
  function fitted(spec, width) {
    if (!spec.facet) return spec;
    const cells = spec.spec.encoding.x.scale.domain.length;
    const each = cells * spec.spec.width.step + 78;
    return { ...spec, columns: Math.max(1, Math.floor((width + 18) / each)) };
  }

  function link(place, name, spec) {
    let line = place.closest("figure").querySelector(".files");
    const a = document.createElement("a");
    a.textContent = "Vega-Lite";
    a.download = name + ".vl.json";
    a.href = URL.createObjectURL(new Blob([JSON.stringify(spec, null, 2)], { type: "application/json" }));
    if (line) line.append(a);
  }

  async function draw(place) {
    const name = place.dataset.picture;
    const width = place.clientWidth;
    try {
      await vegaEmbed(place, fitted(specs[name], width), {
        ast: true,
        renderer: "svg",
        actions: { export: { svg: true, png: true }, source: false, compiled: false, editor: false },
        downloadFileName: name,
        config: config(width),
        tooltip: { theme: matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light" },
      });
    } catch (error) {
      // The table says the same; better seen than a hole in the page
      place.closest("figure").querySelector("details").open = true;
      throw error;
    }
    link(place, name, specs[name]);
  }

  const places = [...document.querySelectorAll(".picture")];
  Promise.all(places.map(draw)).then(() => document.documentElement.setAttribute("data-drawn", places.length));
})();
