// Colours of terminals (ECMA-48, "select graphic rendition"): a text in pieces, each with the classes of its style.
// Other sequences are left out. What of a sequence is at the end of a text waits for the rest.

// eslint-disable-next-line no-control-regex
const SEQUENCE = /\x1b(?:\[([0-9;:?]*)[ -/]*([@-~])|\][^\x07\x1b]*(?:\x07|\x1b\\)|[ -/]+[0-~]|[0-Z\\^_-~])/g;
// eslint-disable-next-line no-control-regex
const BEGUN = /\x1b(?:\[[0-9;:?]*[ -/]*|\][^\x07\x1b]*|[ -/]*)$/;
const MOST_BEGUN = 256;

export class Ansi {
  constructor() {
    this.rest = "";
    this.style = { ink: null, ground: null, bold: false, faint: false, italic: false, underline: false, inverse: false };
  }

  // Returns pieces: [classes, text].
  feed(text) {
    let whole = this.rest + text;
    const begun = BEGUN.exec(whole);
    this.rest = begun && begun[0].length < MOST_BEGUN ? begun[0] : "";
    if (this.rest) whole = whole.slice(0, begun.index);
    const pieces = [];
    let at = 0;
    for (const found of whole.matchAll(SEQUENCE)) {
      if (found.index > at) pieces.push([this.classes(), whole.slice(at, found.index)]);
      at = found.index + found[0].length;
      // In the form with colons, a colour has an id of its space between, mostly empty.
      if (found[2] === "m") this.select(found[1].replace(/\b([34]8:2):\d*:(?=\d*:\d*:\d)/g, "$1:").split(/[;:]/).map(Number));
    }
    if (at < whole.length) pieces.push([this.classes(), whole.slice(at)]);
    return pieces;
  }

  select(codes) {
    const style = this.style;
    for (let at = 0; at < codes.length; at += 1) {
      const code = codes[at];
      if (code === 0) Object.assign(style, new Ansi().style);
      else if (code === 1) style.bold = true;
      else if (code === 2) style.faint = true;
      else if (code === 3) style.italic = true;
      else if (code === 4) style.underline = true;
      else if (code === 7) style.inverse = true;
      else if (code === 22) style.bold = style.faint = false;
      else if (code === 23) style.italic = false;
      else if (code === 24) style.underline = false;
      else if (code === 27) style.inverse = false;
      else if (code >= 30 && code <= 37) style.ink = code - 30;
      else if (code === 39) style.ink = null;
      else if (code >= 40 && code <= 47) style.ground = code - 40;
      else if (code === 49) style.ground = null;
      else if (code >= 90 && code <= 97) style.ink = code - 82;
      else if (code >= 100 && code <= 107) style.ground = code - 92;
      else if (code === 38 || code === 48) {
        const colour = codes[at + 1] === 5 ? basic256(codes[at + 2]) : basicRgb(codes.slice(at + 2, at + 5));
        style[code === 38 ? "ink" : "ground"] = colour;
        at += codes[at + 1] === 5 ? 2 : 4;
      }
    }
  }

  classes() {
    const { ink, ground, ...others } = this.style;
    const names = Object.keys(others).filter((name) => others[name]).map((name) => `ansi-${name}`);
    if (ink !== null) names.push(`ansi-ink-${ink}`);
    if (ground !== null) names.push(`ansi-ground-${ground}`);
    return names.join(" ");
  }
}

// The nearest of the sixteen, which the page has for light and for dark.
function basic256(number) {
  if (!(number >= 0 && number <= 255)) return null;
  if (number < 16) return number;
  if (number >= 232) return number < 244 ? 8 : 7;
  const cube = number - 16;
  return basicRgb([Math.floor(cube / 36), Math.floor(cube / 6) % 6, cube % 6].map((each) => each * 51));
}

function basicRgb([red = 0, green = 0, blue = 0]) {
  const most = Math.max(red, green, blue);
  if (most < 48) return 8;
  const bit = (each) => (each > most * 0.6 ? 1 : 0);
  return bit(red) + 2 * bit(green) + 4 * bit(blue) + (most > 200 ? 8 : 0);
}
