// `npm run test:chart`: runs all checks of the chart that need no cluster. Renders each scenario and compares it with
// the committed rendering, the schemas of three Kubernetes minors, Pod Security `restricted` and the rules. Also
// verifies that each check refuses something broken, and that wrong values are refused. Ends with the line `N passed, N
// failed`.
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse as parseYaml } from 'yaml';
import { openTally } from '../tally.mjs';
import { checkCommands } from './commands.mjs';
import { looserThanParsers } from './contract.mjs';
import { readFacts } from './facts.mjs';
import { generated, readmeOf } from './generate.mjs';
import { FOLDER, goldens, outdated } from './golden.mjs';
import { checkOwnerPassword, checkReplicas, checkSecretsReplacePods } from './installs.mjs';
import { mistypedKeys, refused, wrongTypes } from './mistakes.mjs';
import { parse, pods } from './objects.mjs';
import { rules } from './rules.mjs';
import { renderAll, scenarios } from './scenarios.mjs';
import { openComplaints } from './settings.mjs';
import { checkSignals, rulesOfOthers } from './signals.mjs';
import { CHART, helm, NAMESPACE, RELEASE, run, template, tool, toolFolder } from './tools.mjs';
import { isAbout, rightValues, roundsOf, valuesOf, wrongValues } from './wrong-values.mjs';

const VERSIONS = ['1.30.0', '1.34.0', '1.37.0'];
/** A scenario that contains all objects that the rules check. */
const RICH = 'ha-without-bucket';

const { check, refuses, skip, end } = openTally();

const work = await mkdtemp(join(tmpdir(), 'commonplace-chart-'));
try {
  const all = await scenarios();
  const rendered = await renderAll(all);
  const parsed = new Map([...rendered].map(([name, text]) => [name, parse(text)]));
  await checkCommitted(all, rendered);
  await checkSchemas(rendered);
  await checkPodSecurity(parsed);
  await checkRules(parsed);
  await checkValues(all);
  await checkOwnerPassword(check, all.find(({ name }) => name === 'mesh').files);
  await checkSecretsReplacePods(check, all.find(({ name }) => name === 'mesh').files);
  await checkReplicas(check, all.find(({ name }) => name === 'mesh').files);
  await checkCommands(check, refuses);
  await checkSignals({ check, refuses, skip, work });
  const own = rulesOfOthers(parsed.get('mesh-signals'), NAMESPACE, RELEASE);
  check('rules of a release read its own series', own);
  refuses('rules of a release read its own series', rulesOfOthers(parsed.get('mesh-signals'), NAMESPACE, 'other'));
  await checkLint(all);
  await advise(rendered);
  console.log(`${all.length} scenarios, ${rules.length} rules, Kubernetes ${VERSIONS.join(', ')}`);
} finally {
  await rm(work, { recursive: true, force: true });
}
end();

/** Checks that the committed files are those that `npm run chart` would write now. */
async function checkCommitted(all, rendered) {
  const files = { ...(await generated()), 'README.md': await readmeOf() };
  for (const [file, text] of Object.entries(files)) {
    const committed = await readFile(join(CHART, file), 'utf8').catch(() => '');
    check(`${file} is current`, committed === text ? [] : ['run `npm run chart`']);
  }
  const golden = goldens(all, rendered);
  check('rendered scenarios equal the committed ones', outdated(golden));
  const left = (await readdir(FOLDER)).filter((file) => !golden.has(join(FOLDER, file)));
  check('no rendering of a removed scenario is left', left);
  const [[file, text]] = golden;
  refuses('rendered scenarios equal the committed ones', outdated(new Map([[file, `${text}# more\n`]])));
}

async function checkSchemas(rendered) {
  for (const version of VERSIONS) {
    const folder = join(work, `rendered-${version}`);
    await writeAll(folder, rendered);
    check(`schemas of Kubernetes ${version}`, await kubeconform(folder, version));
    const broken = join(work, `broken-${version}`);
    const whole = rendered
      .get(RICH)
      .split(/^---$/m)
      .find((object) => object.includes('replicas:'));
    await writeAll(broken, new Map([['unknown', whole.replace('replicas:', 'replica:')]]));
    refuses(`schemas of Kubernetes ${version}`, await kubeconform(broken, version));
  }
}

/** Writes a file for each text. Objects that an earlier text contains too are left out. */
async function writeAll(folder, texts) {
  await mkdir(folder, { recursive: true });
  const seen = new Set();
  for (const [name, text] of texts) {
    const fresh = text.split(/^---$/m).filter((object) => !seen.has(object));
    for (const object of fresh) seen.add(object);
    await writeFile(join(folder, `${name}.yaml`), fresh.join('---'));
  }
}

async function kubeconform(folder, version) {
  const program = await tool('kubeconform');
  const schemas = await toolFolder('kubernetes-schemas');
  const own = join(schemas, `v${version}`, '{{.ResourceKind}}{{.KindSuffix}}.json');
  const custom = join(schemas, 'custom', '{{.ResourceKind}}-{{.Group}}-{{.ResourceAPIVersion}}.json');
  const args = [
    '-strict',
    '-skip',
    'Certificate,Issuer',
    '-output',
    'json',
    '-schema-location',
    own,
    '-schema-location',
    custom,
    folder,
  ];
  const { stdout, stderr } = await run(program, args);
  if (stdout === '') throw new Error(stderr);
  return JSON.parse(stdout).resources.map(({ filename, kind, name, msg }) => `${filename}: ${kind}/${name}: ${msg}`);
}

async function checkPodSecurity(parsed) {
  const list = [...parsed].flatMap(([source, objects]) => podList(source, objects));
  check(`Pod Security restricted, ${list.length} pods`, await podSecurity(list));
  const [broken] = structuredClone(podList(RICH, parsed.get(RICH)));
  delete broken.spec.containers[0].securityContext.allowPrivilegeEscalation;
  refuses('Pod Security restricted', await podSecurity([broken]));
}

function podList(source, objects) {
  return pods(objects).map(({ object: { kind }, metadata, spec }) => ({
    source,
    kind,
    name: metadata.labels['app.kubernetes.io/component'],
    metadata: { labels: metadata.labels, annotations: metadata.annotations },
    spec,
  }));
}

async function podSecurity(list) {
  const { code, stdout, stderr } = await run(await tool('pod-security'), ['latest'], {
    input: JSON.stringify(list),
  });
  return code === 0 ? [] : `${stdout}${stderr}`.trim().split('\n');
}

async function checkRules(parsed) {
  const facts = await readFacts();
  const secrets = new Set([...Object.values(facts.services), facts.embedded].flatMap((one) => one.secrets));
  const context = { facts, secrets, namespace: NAMESPACE, complaints: await openComplaints() };
  for (const rule of rules) {
    for (const [name, objects] of parsed)
      check(`${name}: ${rule.name}`, rule.check(objects, { ...context, scenario: name }));
    const broken = structuredClone(parsed.get(RICH));
    rule.broken(broken);
    refuses(rule.name, rule.check(broken, context));
  }
}

async function checkValues(all) {
  const schema = JSON.parse(await readFile(join(CHART, 'values.schema.json'), 'utf8'));
  const base = all.find(({ name }) => name === 'mesh').files;
  const keys = mistypedKeys(schema);
  const said = await complaintOf(base, keys.values);
  for (const { path, key } of keys.places) {
    const line = said.find((one) => one.includes(`'${path}'`) && one.includes(`'${key}'`));
    check(`mistyped key ${path}/${key} is refused`, line === undefined ? ['it is accepted'] : []);
  }
  for (const lists of [false, true]) {
    const types = wrongTypes(schema, lists);
    const complaints = await complaintOf(base, types.values);
    for (const { path } of types.places) {
      const found = complaints.some((one) => one.includes(`'${path}'`));
      check(`wrong type at ${path} is refused`, found ? [] : ['it is accepted']);
    }
  }
  await checkWrongValues(base);
  check('settings that the schema accepts are accepted by the processes', await looserThanParsers());
  for (const [name, set, words] of refused) {
    const { files } = all.find((scenario) => scenario.name === name);
    const message = await template(files, { set }).then(
      () => 'it is taken',
      ({ message: text }) => text,
    );
    check(`${name} with ${set.join()} is refused`, message.includes(words) ? [] : [message]);
  }
}

/** Checks that helm refuses each wrong value and accepts each right one. */
async function checkWrongValues(base) {
  for (const round of roundsOf(wrongValues)) {
    const said = await complaintOf(base, valuesOf(round));
    for (const [place, value] of round) {
      const found = said.some((line) => isAbout(line, place));
      check(`${place} of ${JSON.stringify(value)} is refused`, found ? [] : ['it is accepted']);
    }
  }
  const [right] = roundsOf(rightValues);
  const said = await complaintOf(base, valuesOf(right));
  for (const [place, value] of right) {
    check(
      `${place} of ${JSON.stringify(value)} is accepted`,
      said.filter((line) => isAbout(line, place)),
    );
  }
  console.log(`${wrongValues.length} wrong values`);
}

/** Returns the lines with which helm refuses values; empty if it accepts them. */
async function complaintOf(files, values) {
  const file = join(work, 'wrong.yaml');
  // JSON avoids a dependency on how YAML parses `y` and `off`.
  await writeFile(file, JSON.stringify(values));
  return template([...files, file]).then(
    () => [],
    ({ message }) => message.split('\n'),
  );
}

async function checkLint(all) {
  for (const name of ['defaults', 'dev', 'ha', 'mesh']) {
    const { files } = all.find((scenario) => scenario.name === name);
    const { code, stdout } = await helm([
      'lint',
      '--strict',
      '--quiet',
      CHART,
      ...files.flatMap((file) => ['-f', file]),
    ]);
    check(`helm lint with ${name}`, code === 0 ? [] : [stdout]);
  }
  const { version, appVersion } = parseYaml(await readFile(join(CHART, 'Chart.yaml'), 'utf8'));
  const { version: product } = JSON.parse(await readFile(join(CHART, '../../package.json'), 'utf8'));
  check(
    'the chart installs this version',
    appVersion === product && version ? [] : [`appVersion ${appVersion}, not ${product}`],
  );
}

/** Prints the advice of kube-score, which does not fail any check. */
async function advise(rendered) {
  const args = ['score', '--output-format', 'ci', '-'];
  const { stdout } = await run(await tool('kube-score'), args, { input: rendered.get('ha') });
  const advice = stdout.split('\n').filter((line) => /^\[(CRITICAL|WARNING)\]/.test(line));
  const kinds = new Map();
  for (const line of advice) {
    const what = line.replace(/^\[\w+\] \S+( \S+)?:? ?/, '').replace(/^\([^)]*\) /, '');
    kinds.set(what, (kinds.get(what) ?? 0) + 1);
  }
  for (const [what, count] of kinds) console.log(`kube-score: ${what} (${count})`);
}
