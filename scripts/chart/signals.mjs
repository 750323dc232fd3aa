// Checks that promtool accepts rules and alerts, that alerts fire as their tests expect, and that each has a
// documentation section. Without promtool, which is in Debian's Prometheus package, only the last is checked.
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'yaml';
import { root } from '../build.mjs';
import { CHART, run, tool } from './tools.mjs';

const RULES = join(CHART, 'rules/commonplace.yaml');
const TESTS = join(CHART, 'tests/rules/alerts.yaml');
const PAGE = 'docs/operations.md';

/** Calls `check` and `refuses` with the name of each check and its faults; `work` is a folder for files. */
export async function checkSignals({ check, refuses, skip, work }) {
  const rules = await readFile(RULES, 'utf8');
  const page = await readFile(join(root, PAGE), 'utf8');
  check('each alert has a page', withoutPage(rules, page));
  refuses('each alert has a page', withoutPage(rules, page.replaceAll('### Commonplace', '### Other')));
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
  // The tests must notice an alert whose threshold has changed.
  const [broken, tests] = [join(work, 'rules.yaml'), join(work, 'alerts.yaml')];
  await writeFile(broken, rules.replaceAll(/> (14\.4|6) \* 0\.001/g, '> 500 * 0.001'));
  await writeFile(tests, (await readFile(TESTS, 'utf8')).replace('../../rules/commonplace.yaml', 'rules.yaml'));
  refuses('promtool test rules', await promtoolFaults('test', 'rules', tests));
}

/**
 * Runs the tests again beside another application, which has all series of all tests in the same namespace: nothing may
 * change. Without the selection by job, the same must fail.
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
  check(`alerts beside ${strangers.length} series of a stranger`, await promtoolFaults('test', 'rules', file));
  await writeFile(own, rules.replaceAll('job=~"commonplace(/.+)?"', 'job!=""'));
  refuses('alerts beside series of a stranger', await promtoolFaults('test', 'rules', file));
}

/** Returns what is wrong with the rules of a release: each series must be of that release. */
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

const alertsOf = (rules) =>
  parse(rules).groups.flatMap((group) => group.rules.filter(({ alert }) => alert !== undefined));

/** Returns the alerts that name no section, or one that does not exist. */
function withoutPage(rules, page) {
  const anchors = new Set([...page.matchAll(/^#+ (.+)$/gm)].map(([, title]) => `${PAGE}#${title.toLowerCase()}`));
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
