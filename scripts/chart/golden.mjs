// Committed renderings of the scenarios: complete for those without a base, a difference from the base for the others.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { structuredPatch } from 'diff';
import { CHART } from './tools.mjs';

export const FOLDER = join(CHART, 'tests/golden');

/** Returns the expected files with their contents. `rendered` maps each scenario's name to its text. */
export function goldens(scenarios, rendered) {
  const files = scenarios.map(({ name, base }) =>
    base === undefined
      ? [`${name}.yaml`, rendered.get(name)]
      : [`${name}.diff`, difference(base, rendered.get(base), rendered.get(name))],
  );
  return new Map(files.map(([file, text]) => [join(FOLDER, file), text]));
}

/** Returns the lines that differ, without line numbers, which every change elsewhere would move. */
function difference(base, before, after) {
  const { hunks } = structuredPatch('', '', before, after, '', '', { context: 6 });
  const parts = hunks.map(({ lines }) => ['@@', ...lines].join('\n'));
  return `${[`# against ${base}`, ...parts].join('\n')}\n`;
}

/** Returns the golden files that differ from the expected ones. */
export function outdated(files) {
  return [...files]
    .filter(([file, text]) => !existsSync(file) || readFileSync(file, 'utf8') !== text)
    .map(([file]) => file);
}
