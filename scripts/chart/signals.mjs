// Checks that promtool accepts rules and alerts, that alerts fire as their tests expect, and that each has a section in
// the documentation. Without promtool, which is in Debian's Prometheus package, only the last is checked.
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'yaml';
import { root } from '../build.mjs';
import { CHART, run, tool } from './tools.mjs';

const RULES = join(CHART, 'rules/commonplace.yaml');
const TESTS = join(CHART, 'tests/rules/alerts.yaml');
const PAGE = 'docs/operations.md';

/** Calls `check` and `refuses` with the name of each check and its faults. `work` is a folder for files. */
export async function checkSignals({ check, refuses, skip, work }) {
  const rules = await readFile(RULES, 'utf8');
  const page = await readFile(join(root, PAGE), 'utf8');
  check('each alert has a page', withoutPage(rules, page));
  refuses('each alert has a page', withoutPage(rules, page.replaceAll('### Commonplace', '### Other')));
  const panels = await dashboardPanels();
  check('each panel has a description, and links to a runbook', mutePanels(panels, page));
  const [first] = structuredClone(panels);
  refuses('each panel links to a runbook', mutePanels([{ ...first, links: [] }], page));
  check('panels of processes name pod and service', anonymousPanels(panels));
  check('panels show metrics that the code has', await unknownMetrics(panels, rules));
  check('each alert is tested', untested(rules, await readFile(TESTS, 'utf8')));
  const promtool = await tool('promtool').catch(() => undefined);
  if (promtool === undefined) return skip('rules and alerts by promtool');
  const promtoolFaults = async (...args) => {
    const { code, stdout, stderr } = await run(promtool, args);
    return code === 0 ? [] : [`${stdout}${stderr}`];
  };
  check('promtool check rules', await promtoolFaults('check', 'rules', RULES));
  check('promtool test rules', await promtoolFaults('test', 'rules', TESTS));
  await checkStrangers({ check, refuses, rules, tests: parse(await readFile(TESTS, 'utf8')), work, promtoolFaults });
  // This verifies that the tests notice a changed threshold of an alert.
  const [broken, tests] = [join(work, 'rules.yaml'), join(work, 'alerts.yaml')];
  await writeFile(broken, rules.replaceAll(/> (14\.4|6) \* 0\.001/g, '> 500 * 0.001'));
  await writeFile(tests, (await readFile(TESTS, 'utf8')).replace('../../rules/commonplace.yaml', 'rules.yaml'));
  refuses('promtool test rules', await promtoolFaults('test', 'rules', tests));
}

/**
 * Runs the tests again next to another application that has all series of all tests in the same namespace. Nothing may
 * change. Without the selection by job, the same tests must fail.
 */
async function checkStrangers({ check, refuses, rules, tests, work, promtoolFaults }) {
  const strangers = tests.tests.flatMap(({ input_series: series }, i) =>
    series.map(({ series: name, values }) => ({
      series: name
        .replace('job="commonplace"', `job="shop",test="${i}"`)
        .replace('job="kubelet"', `job="kubelet",test="${i}"`)
        .replace(/(persistentvolumeclaim="[^"]*)commonplace/, '$1shop'),
      values,
    })),
  );
  const file = join(work, 'strangers.yaml');
  const beside = tests.tests.map((test) => ({ ...test, input_series: [...test.input_series, ...strangers] }));
  await writeFile(file, JSON.stringify({ ...tests, rule_files: ['strangers-rules.yaml'], tests: beside }));
  const own = join(work, 'strangers-rules.yaml');
  await writeFile(own, rules);
  check(
    `alerts next to ${strangers.length} series of another installation`,
    await promtoolFaults('test', 'rules', file),
  );
  await writeFile(own, rules.replaceAll('job=~"commonplace(/.+)?"', 'job!=""'));
  refuses('alerts beside series of a stranger', await promtoolFaults('test', 'rules', file));
}

/** Returns the faults of the rules of a release. Each series must be restricted to that release. */
export function rulesOfOthers(objects, namespace, release) {
  const ours = [`namespace="${namespace}"`, `release="${release}"`];
  return objects
    .filter(({ kind }) => kind === 'PrometheusRule')
    .flatMap(({ spec }) => spec.groups.flatMap(({ rules }) => rules))
    .flatMap(({ record, alert, expr }) =>
      [...expr.matchAll(/(?<![\w:])([a-z][\w:]*_[\w:]+|commonplace:[\w:]+)(\{[^}]*\})?(?=[\s)[\]]|$)/g)]
        .filter(
          ([, name]) =>
            name.includes(':') ||
            /_(seconds|total|ratio|bytes|count|bucket|lag|size|dead|full|held|damaged|version)/.test(name),
        )
        .filter(
          ([, name, labels = '']) =>
            !ours.every((one) => labels.includes(one) || (name.startsWith('kubelet_') && one.startsWith('release'))),
        )
        .map(([, name]) => `${record ?? alert} reads ${name} of all releases`),
    );
}

async function dashboardPanels() {
  const texts = await Promise.all(
    ['overview', 'background'].map((name) => readFile(join(CHART, 'dashboards', `${name}.json`), 'utf8')),
  );
  return texts.flatMap((text) => JSON.parse(text).panels).filter(({ type }) => type !== 'row');
}

const anchorsOf = (page) =>
  new Set([...page.matchAll(/^#+ (.+)$/gm)].map(([, title]) => `${PAGE}#${title.toLowerCase()}`));

/** Returns the panels without a description, or without a link to an existing section. */
function mutePanels(panels, page) {
  const anchors = anchorsOf(page);
  return panels
    .filter(({ description = '', links = [] }) => description === '' || !links.some(({ url }) => anchors.has(url)))
    .map(({ title }) => title);
}

/** Returns the panels with metrics of processes whose legend does not identify the process. */
function anonymousPanels(panels) {
  const ofProcess = /\b(nodejs_|process_|http_server_active|load_|db_client_connection|worker_pool|storage_|tls_)/;
  return panels
    .filter(({ targets }) =>
      targets.some(
        ({ expr, legendFormat }) => ofProcess.test(expr) && !/\{\{service\}\} \{\{pod\}\}/.test(legendFormat),
      ),
    )
    .map(({ title }) => title);
}

/** Returns the metrics of panels that the code does not define and no rule records. */
async function unknownMetrics(panels, rules) {
  const sources = (await readdir(root, { recursive: true })).filter(
    (file) =>
      /^(kit|adapters|platform|site|gateway|services\/[a-z]+)\/src\/.*\.ts$/.test(file) &&
      !file.includes('node_modules'),
  );
  const texts = await Promise.all(sources.map((file) => readFile(join(root, file), 'utf8')));
  const names = new Set(
    texts.flatMap((text) =>
      [...text.matchAll(/'([a-z]+(?:[._][a-z0-9]+)+)'/g)].map(([, name]) => name.replaceAll('.', '_')),
    ),
  );
  const recorded = new Set([...rules.matchAll(/record: (\S+)/g)].map(([, name]) => name));
  const isKnown = (name) =>
    recorded.has(name) ||
    names.has(name) ||
    names.has(name.replace(/_(total|count|bucket|sum)$/, '').replace(/_(seconds|bytes|ratio)$/, '')) ||
    names.has(name.replace(/_seconds_(count|bucket|total)$/, ''));
  return panels.flatMap(({ title, targets }) =>
    targets
      .flatMap(({ expr }) => [...expr.matchAll(/([a-z][a-z0-9_:]*)\{/g)].map(([, name]) => name))
      .filter((name) => !isKnown(name))
      .map((name) => `${title}: ${name}`),
  );
}

const alertsOf = (rules) =>
  parse(rules).groups.flatMap((group) => group.rules.filter(({ alert }) => alert !== undefined));

/** Returns the alerts that link to no section, or to one that does not exist. */
function withoutPage(rules, page) {
  const anchors = anchorsOf(page);
  return alertsOf(rules)
    .filter(({ annotations }) => !anchors.has(annotations.runbook_url))
    .map(({ alert }) => alert);
}

function untested(rules, tests) {
  const tested = new Set(
    parse(tests).tests.flatMap(({ alert_rule_test: some = [] }) => some.map(({ alertname }) => alertname)),
  );
  return alertsOf(rules)
    .map(({ alert }) => alert)
    .filter((alert) => !tested.has(alert));
}
