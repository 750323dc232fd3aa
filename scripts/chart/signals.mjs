// Whether rules and alerts are what promtool takes, fire as their tests say, and have a page each. Without promtool,
// which Debian's package of Prometheus has, only the last is looked at.
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
  // An alert whose limit is another has to be noticed by its test.
  const [broken, tests] = [join(work, 'rules.yaml'), join(work, 'alerts.yaml')];
  await writeFile(broken, rules.replace('ratio5m > 0.01', 'ratio5m > 0.5'));
  await writeFile(tests, (await readFile(TESTS, 'utf8')).replace('../../rules/commonplace.yaml', 'rules.yaml'));
  refuses('promtool test rules', await promtoolFaults('test', 'rules', tests));
}

const alertsOf = (rules) =>
  parse(rules).groups.flatMap((group) => group.rules.filter(({ alert }) => alert !== undefined));

/** Alerts that name no section, or one that is not there. */
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
