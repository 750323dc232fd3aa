// `npm run chart`: writes the files of the chart that are derived from the code and from its values: mesh.yaml, the
// schema, dashboards, the README and the rendered scenarios of its tests. Requires the output of `npm run build`.
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stringify } from 'yaml';
import { build, root } from '../build.mjs';
import { withAllowed } from './allowed.mjs';
import { dashboards } from './dashboards.mjs';
import { addressPatterns, readFacts, readShapes } from './facts.mjs';
import { FOLDER, goldens } from './golden.mjs';
import { renderAll, scenarios } from './scenarios.mjs';
import { schemaOf } from './schema.mjs';
import { CHART, run, tool } from './tools.mjs';

const MESH_HEAD = `# Written by \`npm run chart\` from the code: which services there are, whom each one calls, whether it calls hosts
# that users name, keeps records, writes a folder, and which settings it has.
`;

/** Returns the files that are derived from the code, by path in the chart. */
export async function generated() {
  const facts = await readFacts();
  return {
    'mesh.yaml': `${MESH_HEAD}${stringify(facts, { lineWidth: 0 })}`,
    'values.schema.json': `${JSON.stringify(schemaOf(facts, await readShapes(), await addressPatterns()), null, 2)}\n`,
    ...dashboards(),
  };
}

/**
 * Returns the README that helm-docs renders from the values and its template, with the allowed values of the schema.
 */
export async function readmeOf(chart = CHART) {
  const program = await tool('helm-docs');
  const folder = await mkdtemp(join(tmpdir(), 'commonplace-chart-'));
  try {
    const copy = join(folder, basename(chart));
    await cp(chart, copy, { recursive: true, filter: (path) => !path.includes('/tests') });
    const { code, stderr } = await run(program, ['--chart-search-root', copy, '--sort-values-order', 'file']);
    if (code !== 0) throw new Error(stderr);
    const readme = await readFile(join(copy, 'README.md'), 'utf8');
    return withAllowed(readme, JSON.parse(await readFile(join(chart, 'values.schema.json'), 'utf8')));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  build({ say: console.log });
  await mkdir(join(CHART, 'dashboards'), { recursive: true });
  for (const [file, text] of Object.entries(await generated())) await writeFile(join(CHART, file), text);
  await writeFile(join(CHART, 'README.md'), await readmeOf());
  await mkdir(FOLDER, { recursive: true });
  const all = await scenarios();
  const files = goldens(all, await renderAll(all));
  for (const [file, text] of files) await writeFile(file, text);
  for (const file of await readdir(FOLDER)) if (!files.has(join(FOLDER, file))) await rm(join(FOLDER, file));
  console.log(`${all.length} scenarios rendered below ${FOLDER.replace(`${root}/`, '')}`);
}
