// Lists the sets of values with which the chart is tested: its defaults, each values file for users, and each file of
// tests/scenarios. The first line of such a file may name the scenario that it extends: `# on: ha`.
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CHART, template } from './tools.mjs';

const OWN = join(CHART, 'values');
const TESTS = join(CHART, 'tests/scenarios');
const DEFAULTS = { name: 'defaults', files: [], base: undefined };
/** The minimal mesh. It has no base, although it is not a values file for users. */
const MESH = 'mesh';

/**
 * Returns each scenario's name, its values files in helm's order, and the name of the scenario with which it is
 * compared.
 */
export async function scenarios() {
  const published = (await names(OWN)).map((name) => ({ name, files: [join(OWN, `${name}.yaml`)], base: undefined }));
  const all = new Map([DEFAULTS, ...published].map((scenario) => [scenario.name, scenario]));
  const own = await names(TESTS);
  for (const name of [MESH, ...own.filter((other) => other !== MESH)]) {
    const file = join(TESTS, `${name}.yaml`);
    const [, on = DEFAULTS.name] = /^# on: (\S+)/.exec(await readFile(file, 'utf8')) ?? [];
    const base = all.get(on);
    if (base === undefined) throw new Error(`${file} extends ${on}, which does not exist`);
    all.set(name, { name, files: [...base.files, file], base: name === MESH ? undefined : on });
  }
  return [...all.values()];
}

async function names(folder) {
  return (await readdir(folder))
    .filter((file) => file.endsWith('.yaml'))
    .map((file) => file.slice(0, -5))
    .sort();
}

/** Renders all scenarios. Returns their texts by name. */
export async function renderAll(all) {
  const rendered = new Map();
  for (const { name, files } of all) rendered.set(name, await template(files));
  return rendered;
}
