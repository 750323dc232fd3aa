/** The figures of one kind of work by size. */
export interface Line {
  readonly name: string;
  readonly points: readonly { readonly size: number; readonly value: number }[];
}

export interface Panel {
  readonly title: string;
  readonly across: string;
  readonly lines: readonly Line[];
}

const WIDTH = 640;
const HEIGHT = 300;
const LEFT = 64;
const TOP = 40;
const PLOT_WIDTH = 330;
const PLOT_HEIGHT = 200;
const COLOURS = ['#1f6feb', '#d1242f', '#1a7f37', '#9a6700', '#8250df', '#57606a', '#bf3989', '#0a7ea4', '#6f4e37'];

/** Draws panels below one another as SVG. Both axes are logarithmic. */
export function plot(panels: readonly Panel[], caption: string): string {
  const height = panels.length * HEIGHT + 24;
  const parts = panels.map((panel, i) => `<g transform="translate(0 ${i * HEIGHT})">${panelOf(panel)}</g>`);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="sans-serif" font-size="12">`,
    `<title>${escaped(panels.map(({ title }) => title).join('; '))}</title>`,
    `<rect width="${WIDTH}" height="${height}" fill="#ffffff"/>`,
    ...parts,
    `<text x="12" y="${height - 10}" fill="#57606a">${escaped(caption)}</text>`,
    '</svg>',
    '',
  ].join('\n');
}

function panelOf({ title, across, lines }: Panel): string {
  const sizes = [...new Set(lines.flatMap(({ points }) => points.map(({ size }) => size)))].sort((a, b) => a - b);
  const values = lines.flatMap(({ points }) => points.map(({ value }) => value));
  const [low, high] = [Math.min(...values), Math.max(...values)].map(Math.log10) as [number, number];
  const [from, to] = [Math.floor(low), Math.max(Math.ceil(high), Math.floor(low) + 1)];
  const [least, most] = [Math.log10(sizes[0] ?? 1), Math.log10(sizes.at(-1) ?? 10)];
  const x = (size: number) => LEFT + (PLOT_WIDTH * (Math.log10(size) - least)) / Math.max(0.1, most - least);
  const y = (value: number) => TOP + PLOT_HEIGHT * (1 - (Math.log10(value) - from) / (to - from));
  const ticks = Array.from({ length: to - from + 1 }, (_, i) => 10 ** (from + i));
  const grid = ticks.map((tick) => {
    const at = y(tick).toFixed(1);
    return `<path d="M${LEFT} ${at}h${PLOT_WIDTH}" stroke="#d0d7de"/><text x="${LEFT - 8}" y="${at}" dy="4" text-anchor="end">${tick} ms</text>`;
  });
  const marks = sizes.map((size) => {
    return `<text x="${x(size).toFixed(1)}" y="${TOP + PLOT_HEIGHT + 18}" text-anchor="middle">${size.toLocaleString('en')}</text>`;
  });
  const drawn = lines.map(({ name, points }, i) => {
    const colour = COLOURS[i % COLOURS.length];
    const path = points.map(
      ({ size, value }, at) => `${at === 0 ? 'M' : 'L'}${x(size).toFixed(1)} ${y(value).toFixed(1)}`,
    );
    const dots = points.map(({ size, value }) => {
      return `<circle cx="${x(size).toFixed(1)}" cy="${y(value).toFixed(1)}" r="3" fill="${colour}"/>`;
    });
    const [label, last] = [TOP + 12 + i * 20, points.at(-1)?.value ?? 0];
    const legend = `<path d="M${LEFT + PLOT_WIDTH + 24} ${label - 4}h18" stroke="${colour}" stroke-width="2"/><text x="${LEFT + PLOT_WIDTH + 48}" y="${label}">${escaped(name)}: ${last.toFixed(last < 10 ? 2 : 0)} ms</text>`;
    return `<path d="${path.join('')}" fill="none" stroke="${colour}" stroke-width="2"/>${dots.join('')}${legend}`;
  });
  const head = `<text x="12" y="20" font-weight="bold">${escaped(title)}</text>`;
  const foot = `<text x="${LEFT + PLOT_WIDTH / 2}" y="${TOP + PLOT_HEIGHT + 36}" text-anchor="middle">${escaped(across)}</text>`;
  return [head, ...grid, ...marks, foot, ...drawn].join('\n');
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}
