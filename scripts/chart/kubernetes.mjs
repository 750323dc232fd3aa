// `npm run test:kubernetes`: tests the chart on a real API server with simulated nodes. Installs the previous chart,
// upgrades to this one, rolls back, upgrades again, lets a migration fail, runs the tests, drains a node and
// uninstalls, with the values for high availability and embedded. Pods are simulated, so the programs in them do not
// run. Prints each command with its outcome; `--log FILE` also writes that to a file. Ends with `N passed, N failed`.
import { createWriteStream, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { stringify } from 'yaml';
import { root } from '../build.mjs';
import { SERVICES } from '../mesh.mjs';
import { startControlPlane } from './cluster/control-plane.mjs';
import { namespace, nodes, pod, secret, volumes } from './cluster/objects.mjs';
import { CHART, run, tool, toolFolder } from './tools.mjs';

const PREVIOUS = join(root, 'charts/previous');
const TIMEOUT = ['--timeout', '5m'];
const SECRETS = [
  secret('commonplace', 'mesh-key', 'secret-key', 'secrets-key', 'owner-password'),
  secret('commonplace-mongodb', 'url'),
  secret('commonplace-nats', 'url'),
  secret('commonplace-typesense', 'api-key'),
  secret('commonplace-s3', 'access-key-id', 'secret-access-key'),
  secret('commonplace-test', 'api-key'),
];
const PROFILES = [
  { name: 'ha', file: 'ha', set: [], kept: 0 },
  { name: 'ha-without-bucket', file: 'ha', set: ['s3.url=,s3.existingSecret='], kept: 1 },
  { name: 'embedded', set: ['test.existingSecret=commonplace-test'], kept: 2 },
];

/** Milliseconds for which an autoscaler may still change the number of pods. */
const SETTLED_MS = 60_000;
/** Timeout in milliseconds until a schedule of every minute has started a job. */
const SCHEDULED_MS = 120_000;

const at = process.argv.indexOf('--log');
const log = at > 0 ? createWriteStream(process.argv[at + 1]) : undefined;
const helm = await tool('helm');
const kubectl = join(dirname(helm), 'kubectl');
const folder = mkdtempSync(join(tmpdir(), 'commonplace-kubernetes-'));
let passed = 0;
let failed = 0;
let env = process.env;

const cluster = await startControlPlane(folder);
try {
  // The environment contains nothing of the user who runs this, in particular not their clusters and repositories.
  env = { PATH: process.env.PATH, HOME: folder, KUBECONFIG: cluster.kubeconfig };
  await prepare();
  for (const profile of PROFILES) await live(profile);
} catch (error) {
  failed += 1;
  say(`✕ ${error.stack}`);
} finally {
  await cluster.stop();
  rmSync(folder, { recursive: true, force: true });
}
say(`${passed} passed, ${failed} failed`);
process.exitCode = failed > 0 ? 1 : 0;
log?.end();

async function prepare() {
  await step('versions', kubectl, ['version', '--output=yaml'], { show: /gitVersion: \S+/g });
  await apply('nodes and volumes', [...nodes, ...volumes(12)]);
  const crds = join(await toolFolder('kubernetes-schemas'), 'crds');
  await step('Gateway API', kubectl, ['apply', '--server-side', '-f', crds]);
}

/** Tests the life cycle of a release, from the previous chart to uninstalling. */
async function live({ name, file, set, kept }) {
  const before = await previous();
  // Each chart is used with its own values file.
  const valuesOf = (chart) => [
    ...(file === undefined ? [] : ['-f', join(chart, 'values', `${file}.yaml`)]),
    ...set.flatMap((pair) => ['--set', pair]),
  ];
  const values = valuesOf(CHART);
  say(`\n## ${name}`);
  const space = ['--namespace', name];
  const release = ['commonplace', ...space];
  await apply('a namespace that enforces Pod Security restricted', [namespace(name)]);
  await apply('its Secrets', SECRETS, space);
  const strict = ['apply', ...space, '--dry-run=server', '--validate=strict', '-f', '-'];
  const input = (await run(helm, ['template', 'commonplace', CHART, ...space, ...values, '--no-hooks'], { env }))
    .stdout;
  await step('strict on the server', kubectl, strict, { input });
  const unknown = input.replace('revisionHistoryLimit:', 'revisionHistory:');
  await step('an unknown field is refused', kubectl, strict, { input: unknown, code: 1, says: 'unknown field' });
  const rooted = stringify(pod('rooted'));
  await step('a pod that is not restricted is refused', kubectl, strict, {
    input: rooted,
    code: 1,
    says: 'violates PodSecurity',
  });
  await step(
    'install the version before',
    helm,
    ['install', 'commonplace', before, ...space, ...valuesOf(before), '--wait', ...TIMEOUT],
    { show: /^(STATUS|REVISION): \S+/gm },
  );
  await settled(space);
  const ran = await images(space);
  await step(
    'upgrade',
    helm,
    ['upgrade', 'commonplace', CHART, ...space, ...values, '--wait', ...TIMEOUT, '--set', 'image.tag=9.9.9'],
    { show: /^(STATUS|REVISION): \S+/gm },
  );
  await settled(space);
  expect(
    'the upgrade runs other images',
    (await images(space)).every((image) => image.endsWith(':9.9.9')),
  );
  await step('rollback', helm, ['rollback', 'commonplace', '1', ...space, '--wait', ...TIMEOUT]);
  await settled(space);
  expect('the rollback runs the images of before', (await images(space)).join() === ran.join());
  await step('upgrade again', helm, ['upgrade', 'commonplace', CHART, ...space, ...values, '--wait', ...TIMEOUT], {
    show: /^(STATUS|REVISION): \S+/gm,
  });
  await settled(space);
  if (file !== undefined) {
    await scaled(space, values);
    await switched(space, values);
    await unmigrated(space, values);
  } else await backedUp(space, values);
  await step('test', helm, ['test', ...release, ...TIMEOUT], { show: /^(TEST SUITE|Phase): +\S+/gm });
  await drain(space);
  await step('a test that fails', helm, [
    'upgrade',
    'commonplace',
    CHART,
    ...space,
    ...values,
    '--wait',
    ...TIMEOUT,
    '--set',
    'podLabels.outcome=fail',
  ]);
  await step('is reported as failed', helm, ['test', ...release, ...TIMEOUT], { code: 1 });
  await step('uninstall', helm, ['uninstall', ...release, '--wait', ...TIMEOUT]);
  await gone(space, kept);
}

/** Checks that upgrades need no manual scaling, and that none runs fewer pods than before. */
async function scaled(space, values) {
  const upgrade = ['upgrade', 'commonplace', CHART, ...space, ...values, '--wait', ...TIMEOUT];
  const gateway = ['deployment/commonplace-gateway', ...space];
  const fixed = 'services.gateway.autoscaling.enabled=false,services.gateway.replicas=5';
  await step('fix the replicas of the gateway', helm, [...upgrade, '--set', fixed]);
  await settled(space);
  await step('give them to the autoscaler', helm, upgrade);
  expect('which finds all that ran', (await replicas(gateway)) === 5);
  await step('scale to 0 by hand', kubectl, ['scale', ...gateway, '--replicas', '0']);
  await step('upgrade', helm, upgrade);
  await settled(space);
  expect('which brings the pods back', (await replicas(gateway)) >= 3);
  await step('stop all pods', helm, [...upgrade, '--set', 'stopped=true']);
  expect('none is wanted', (await replicas(gateway)) === 0);
  await step('upgrade again', helm, upgrade);
  await settled(space);
  expect('all are back', (await replicas(gateway)) >= 3);
}

/** Checks that backups start by their schedule and manually, on the node of the pod, and that their volume is kept. */
async function backedUp(space, values) {
  const upgrade = ['upgrade', 'commonplace', CHART, ...space, ...values, '--wait', ...TIMEOUT];
  await step('back up every minute', helm, [
    ...upgrade,
    '--set',
    'backup.enabled=true',
    '--set',
    'backup.schedule=* * * * *',
  ]);
  await settled(space);
  const job = await firstJob(space);
  expect('the schedule starts a job', job !== '', job);
  await step('the backup completes', kubectl, ['wait', '--for=condition=complete', job, ...space, '--timeout=60s']);
  const byHand = ['create', 'job', 'backup-now', '--from=cronjob/commonplace-backup', ...space];
  await step('a backup by hand', kubectl, byHand);
  await step('the backup by hand completes', kubectl, [
    'wait',
    '--for=condition=complete',
    'job/backup-now',
    ...space,
    '--timeout=60s',
  ]);
  const ran = await nodesOf(space, 'backup');
  const served = await nodesOf(space, 'all');
  expect(
    'both ran on the node of the pod, whose volume they read',
    ran.length >= 2 && ran.every((node) => served.includes(node)),
    `${ran} beside ${served}`,
  );
  await step('stop all pods', helm, [...upgrade, '--set', 'backup.enabled=true,stopped=true']);
  const suspended = ['get', 'cronjob/commonplace-backup', ...space, '-o=jsonpath={.spec.suspend}'];
  expect('backups rest', (await run(kubectl, suspended, { env })).stdout === 'true');
  await step('restore into an empty volume', helm, [...upgrade, '--set', 'backup.restore.from=newest']);
  await settled(space);
}

/**
 * Waits for the first job that a schedule starts. Returns its name in the notation of `kubectl`; empty if there is
 * none.
 */
async function firstJob(space) {
  for (const until = Date.now() + SCHEDULED_MS; Date.now() < until; ) {
    const { stdout } = await run(kubectl, ['get', 'jobs', ...space, '-o=name'], { env });
    const found = stdout.split('\n').find((name) => name.startsWith('job.batch/commonplace-backup-'));
    if (found !== undefined) return found;
    await new Promise((resolve) => setTimeout(resolve, 1000));
  }
  return '';
}

/** Returns the nodes of the pods of a component. */
async function nodesOf(space, component) {
  const selector = `--selector=app.kubernetes.io/component=${component}`;
  const jsonpath = '-o=jsonpath={range .items[*]}{.spec.nodeName}{"\\n"}{end}';
  return (await run(kubectl, ['get', 'pods', ...space, selector, jsonpath], { env })).stdout.trim().split('\n');
}

async function replicas(deployment) {
  const { stdout } = await run(kubectl, ['get', ...deployment, '-o=jsonpath={.spec.replicas}'], { env });
  return Number(stdout);
}

/**
 * Checks that TLS between the services stays off through upgrades, is turned on when requested, and keeps its
 * certificates.
 */
async function switched(space, values) {
  const upgrade = ['upgrade', 'commonplace', CHART, ...space, ...values, '--wait', ...TIMEOUT];
  expect('a mesh without TLS stays without it', (await certificates(space)) === '');
  await step('turn on TLS', helm, [...upgrade, '--set', 'mesh.tls.switch=true']);
  await settled(space);
  const issued = await certificates(space);
  // The additional certificates are those of the gateway, the job that creates the first owner, and the authority
  // itself.
  expect('each process has a certificate', issued.split('\n').length === SERVICES.length + 3, issued);
  await step('upgrade with TLS', helm, upgrade);
  await settled(space);
  expect('which issues none again', (await certificates(space)) === issued);
  await step('TLS is not turned off accidentally', helm, [...upgrade, '--set', 'mesh.tls.mode=off'], {
    code: 1,
    says: 'mesh.tls.switch',
  });
}

/** Returns the certificates of a release and its authority, one per line. */
async function certificates(space) {
  const jsonpath = '-o=jsonpath={range .items[*]}{.metadata.name} {.data.tls\\.crt}{"\\n"}{end}';
  const type = '--field-selector=type=kubernetes.io/tls';
  return (await run(kubectl, ['get', 'secrets', ...space, type, jsonpath], { env })).stdout.trim();
}

/** Checks that an upgrade whose migration exceeds its deadline fails without changing any running pod. */
async function unmigrated(space, values) {
  const ran = await images(space);
  const stuck = ['migration.deadlineSeconds=5', 'nodeSelector.nowhere=here', 'image.tag=8.8.8'];
  await step(
    'an upgrade whose migration does not end',
    helm,
    ['upgrade', 'commonplace', CHART, ...space, ...values, '--wait', ...TIMEOUT, '--set', stuck.join()],
    { code: 1, says: 'pre-upgrade hooks failed' },
  );
  expect('changes nothing that runs', (await images(space)).join() === ran.join());
  await step(
    'and the next one goes through',
    helm,
    ['upgrade', 'commonplace', CHART, ...space, ...values, '--wait', ...TIMEOUT],
    { show: /^(STATUS|REVISION): \S+/gm },
  );
  await settled(space);
}

/** Unpacks the newest packaged chart before this one. Returns its folder. */
async function previous() {
  const packages = existsSync(PREVIOUS) ? readdirSync(PREVIOUS).filter((file) => file.endsWith('.tgz')) : [];
  const newest = packages.sort((a, b) => a.localeCompare(b, 'en', { numeric: true })).at(-1);
  if (newest === undefined) throw new Error(`${PREVIOUS} contains no chart to upgrade from`);
  const unpacked = join(folder, newest.replace('.tgz', ''));
  mkdirSync(unpacked, { recursive: true });
  const { code, stderr } = await run('tar', ['-xzf', join(PREVIOUS, newest), '-C', unpacked]);
  if (code !== 0) throw new Error(stderr);
  return join(unpacked, 'commonplace');
}

async function images(space) {
  const jsonpath = '-o=jsonpath={range .items[*]}{.spec.template.spec.containers[0].image}{"\\n"}{end}';
  const { stdout } = await run(kubectl, ['get', 'deployments,statefulsets', ...space, jsonpath], { env });
  return stdout.trim().split('\n');
}

/** Waits until all pods of every workload are ready. */
async function settled(space) {
  const until = Date.now() + SETTLED_MS;
  for (;;) {
    await rolledOut(space);
    const { stdout } = await run(kubectl, ['get', 'pods', ...space, '--no-headers'], { env });
    const lines = stdout.trim().split('\n');
    const right = lines.every((line) => /\s(1\/1\s+Running|[01]\/1\s+(Completed|Succeeded|Terminating))/.test(line));
    if (right || Date.now() > until) return expect(`${lines.length} pods, all of them ready`, right, stdout);
  }
}

async function rolledOut(space) {
  for (const kind of ['deployments', 'statefulsets']) {
    const { stdout } = await run(kubectl, ['get', kind, ...space, '-o=name'], { env });
    for (const name of stdout.trim().split('\n').filter(Boolean)) {
      const { code, stderr } = await run(kubectl, ['rollout', 'status', name, ...space, '--timeout=120s'], { env });
      if (code !== 0) throw new Error(`${name}: ${stderr}`);
    }
  }
}

/** Drains a node. The disruption budgets allow its pods to leave one by one, and other nodes run them. */
async function drain(space) {
  const args = ['--ignore-daemonsets', '--delete-emptydir-data', '--force', '--timeout=180s'];
  await step('drain a node', kubectl, ['drain', 'node-a', ...args], { show: /^node\/\S+ drained/gm });
  await settled(space);
  await step('uncordon the node', kubectl, ['uncordon', 'node-a']);
}

async function gone(space, kept) {
  const kinds =
    'deployments,statefulsets,services,networkpolicies,poddisruptionbudgets,horizontalpodautoscalers,ingresses,serviceaccounts';
  const { stdout } = await run(kubectl, ['get', kinds, ...space, '-o=name'], { env });
  const left = stdout
    .trim()
    .split('\n')
    .filter((name) => name !== 'serviceaccount/default' && name !== '');
  expect('nothing is left of it', left.length === 0, left.join());
  const claims = await run(kubectl, ['get', 'persistentvolumeclaims', ...space, '-o=name'], { env });
  const names = claims.stdout.trim().split('\n').filter(Boolean);
  expect(`but what people wrote: ${names.join() || 'here nothing'}`, names.length === kept, String(names.length));
  await step('delete the namespace', kubectl, ['delete', 'namespace', space[1], '--timeout=60s']);
}

async function apply(name, objects, more = []) {
  const input = objects.map((object) => stringify(object)).join('---\n');
  await step(name, kubectl, ['apply', ...more, '--server-side', '-f', '-'], { input });
}

/**
 * Runs a command and prints it with its duration and the parts of its output that match `show`. Throws if the exit code
 * differs from `code`, or if stderr does not contain `says`.
 */
async function step(name, program, args, { input, show, code: wanted = 0, says = '' } = {}) {
  const started = Date.now();
  const { code, stdout, stderr } = await run(program, args, { env, input });
  const right = code === wanted && stderr.includes(says);
  const seconds = ((Date.now() - started) / 1000).toFixed(1);
  const command = [program.slice(program.lastIndexOf('/') + 1), ...args]
    .join(' ')
    .replaceAll(`${root}/`, '')
    .replaceAll(folder, '…')
    .replace(/\/\S*\/tools\//g, '…/');
  const shown = show === undefined ? '' : ` → ${(stdout.match(show) ?? []).join(', ').replace(/\s+/g, ' ')}`;
  expect(`${name} (${seconds} s): ${command}${shown}`, right, `${stdout}${stderr}`);
  if (!right) throw new Error(`${name}: ${command}`);
}

function expect(what, right, why = '') {
  say(`${right ? '✓' : '✕'} ${what}`);
  if (right) passed += 1;
  else {
    failed += 1;
    say(why);
  }
}

function say(line) {
  console.log(line);
  log?.write(`${line}\n`);
}
