// A chart over time: how much waited, by priority and stacked, and how much ran. Drawn by uPlot on a canvas.
import uPlot from "../../vendor/uplot/uPlot.js";
import { html, useEffect, useRef, useState } from "../lib.js";
import { useSignal } from "../signal.js";
import { theme } from "../theme.js";
import { BANDS, band, count } from "../words.js";

const HEIGHT_PX = 240;
const LEAST_SECONDS = 60;
// The most urgent at the bottom, where it is seen best.
const NAMES = [...BANDS];

function columns(samples) {
  const stacked = NAMES.map(() => []);
  for (const sample of samples) {
    let sum = 0;
    NAMES.forEach((name, number) => stacked[number].push((sum += sample.byBand[name] ?? 0)));
  }
  return [samples.map((each) => each.at / 1000), ...stacked.reverse(), samples.map((each) => each.active)];
}

function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

const clock = (seconds) => new Date(seconds * 1000).toLocaleTimeString(undefined, { hourCycle: "h23" });

function options(width) {
  const axis = { stroke: colour("faint"), grid: { stroke: colour("line"), width: 1 }, ticks: { stroke: colour("line"), width: 1 } };
  const areas = [...NAMES].reverse().map((name) => {
    const ink = colour(name.toLowerCase());
    return { label: band(name), stroke: ink, fill: ink, width: 0, points: { show: false } };
  });
  return {
    width, height: HEIGHT_PX, legend: { show: false }, cursor: { y: false, points: { show: false } },
    scales: { x: { range: (_, first, last) => [Math.min(first, last - LEAST_SECONDS), last] }, y: { range: (_, least, most) => [0, Math.max(5, most * 1.1)] } },
    axes: [{ ...axis, space: 90, values: (_, ticks) => ticks.map(clock) }, { ...axis, size: 48, values: (_, ticks) => ticks.map((each) => (Number.isInteger(each) ? count(each) : "")) }],
    series: [{}, ...areas, { label: "Running", stroke: colour("ink"), width: 2, points: { show: false } }],
  };
}

function usePrefersDark() {
  const query = matchMedia("(prefers-color-scheme: dark)");
  const [isDark, setDark] = useState(query.matches);
  useEffect(() => {
    const changed = () => setDark(query.matches);
    query.addEventListener("change", changed);
    return () => query.removeEventListener("change", changed);
  }, []);
  return isDark;
}

export function Chart({ samples }) {
  const box = useRef(null);
  const plot = useRef(null);
  const chosen = useSignal(theme);
  const isDark = usePrefersDark();
  const [at, setAt] = useState(null);

  useEffect(() => {
    const made = new uPlot(options(box.current.clientWidth), columns(samples), box.current);
    made.over.addEventListener("mousemove", () => setAt(made.cursor.idx ?? null));
    made.over.addEventListener("mouseleave", () => setAt(null));
    plot.current = made;
    const watching = new ResizeObserver(() => made.setSize({ width: box.current.clientWidth, height: HEIGHT_PX }));
    watching.observe(box.current);
    return () => {
      watching.disconnect();
      made.destroy();
    };
  }, [chosen, isDark]);
  useEffect(() => plot.current?.setData(columns(samples)), [samples]);

  const shown = samples[at ?? samples.length - 1];
  if (!shown) return null;
  return html`
    <div class="chart" ref=${box} role="img" aria-label="How many waited by priority, and how many ran, over time"></div>
    <ul class="legend">
      <li><b>${at === null ? "Now" : clock(shown.at / 1000)}</b></li>
      ${NAMES.map((name) => html`<li key=${name}><i class="fill-${name}" aria-hidden="true"></i>${band(name)} <b>${count(shown.byBand[name] ?? 0)}</b></li>`)}
      <li><i class="fill-running" aria-hidden="true"></i>running <b>${count(shown.active)}</b></li>
    </ul>
  `;
}
