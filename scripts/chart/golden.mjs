// What scenarios render to, as it is kept: whole for those that stand on nothing, and what is another for the rest.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { structuredPatch } from 'diff';
import { CHART } from './tools.mjs';

export const FOLDER = join(CHART, 'tests/golden');

/** The files that ought to be there, with what is in them. `rendered` has each scenario's text by its name. */
export function goldens(scenarios, rendered) {
  const files = scenarios.map(({ name, base }) =>
    base === undefined
      ? [`${name}.yaml`, rendered.get(name)]
      : [`${name}.diff`, difference(base, rendered.get(base), rendered.get(name))],
  );
  return new Map(files.map(([file, text]) => [join(FOLDER, file), text]));
}

/** The lines that differ, without their numbers, which every change elsewhere would move. */
function difference(base, before, after) {
  const { hunks } = structuredPatch('', '', before, after, '', '', { context: 6 });
  const parts = hunks.map(({ lines }) => ['@@', ...lines].join('\n'));
  return `${[`# against ${base}`, ...parts].join('\n')}\n`;
}

/** The golden files that are not as they ought to be. */
export function outdated(files) {
  return [...files]
    .filter(([file, text]) => !existsSync(file) || readFileSync(file, 'utf8') !== text)
    .map(([file]) => file);
}
