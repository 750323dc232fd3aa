// Manages the committed renderings of the scenarios: complete ones for scenarios without a base, and differences from
// the base for all others.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { structuredPatch } from 'diff';
import { CHART } from './tools.mjs';

export const FOLDER = join(CHART, 'tests/golden');

/** Returns the expected files with their contents. `rendered` maps the names of scenarios to their texts. */
export function goldens(scenarios, rendered) {
  const files = scenarios.map(({ name, base }) =>
    base === undefined
      ? [`${name}.yaml`, rendered.get(name)]
      : [`${name}.diff`, difference(base, rendered.get(base), rendered.get(name))],
  );
  return new Map(files.map(([file, text]) => [join(FOLDER, file), text]));
}

/** Returns the lines that differ. They have no line numbers, because every change elsewhere would shift these. */
function difference(base, before, after) {
  const { hunks } = structuredPatch('', '', before, after, '', '', { context: 6 });
  const parts = hunks.map(({ lines }) => ['@@', ...lines].join('\n'));
  return `${[`# against ${base}`, ...parts].join('\n')}\n`;
}

/** Returns the committed files that differ from the expected ones. */
export function outdated(files) {
  return [...files]
    .filter(([file, text]) => !existsSync(file) || readFileSync(file, 'utf8') !== text)
    .map(([file]) => file);
}
