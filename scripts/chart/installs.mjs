// Checks what the chart renders if helm can read from a cluster. The cluster is a fake one that contains only Secrets.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from './objects.mjs';
import { CHART, helm, NAMESPACE, RELEASE, template } from './tools.mjs';

const KEY = 'owner-password';
const GIVEN = 'commonplace';
const GENERATED = `${RELEASE}-owner`;
/** Metadata by which helm recognizes objects of a release. */
const OF_RELEASE = {
  labels: { 'app.kubernetes.io/managed-by': 'Helm' },
  annotations: { 'meta.helm.sh/release-name': RELEASE, 'meta.helm.sh/release-namespace': NAMESPACE },
};
/** An object of a kind that the cluster supports, although not all values render one. */
const SCALER = { apiVersion: 'autoscaling/v2', kind: 'HorizontalPodAutoscaler' };
const base64 = (text) => Buffer.from(text).toString('base64');

/** Checks that a mesh can be installed without an owner password, and that a generated one is kept. */
export async function checkOwnerPassword(check, files) {
  const whole = { 'mesh-key': 'a', 'secret-key': 'b', 'secrets-key': 'c' };
  const render = (secrets, args) => withCluster(secrets, files, (helmIn) => rendered(helmIn, args));

  const given = await render({ [GIVEN]: { ...whole, [KEY]: 'of the operator' } }, []);
  check('the owner’s password of the operator is used', [
    ...faultsOf(given, GIVEN),
    ...(given.generated === undefined ? [] : ['another one is generated']),
  ]);

  const first = await render({ [GIVEN]: whole }, []);
  const password = Buffer.from(first.generated?.data[KEY] ?? '', 'base64').toString();
  check('an owner’s password is generated if there is none', [
    ...faultsOf(first, GENERATED),
    ...(/^[A-Za-z0-9]{32}$/.test(password) ? [] : [`it is ${password.length} characters long`]),
    ...(first.generated?.metadata.annotations['helm.sh/resource-policy'] === 'keep' ? [] : ['uninstalling deletes it']),
  ]);
  const said = await withCluster({ [GIVEN]: whole }, files, (helmIn) => helmIn(['install'], []));
  check('NOTES.txt says how to read a generated password', said.includes(`get secret ${GENERATED} -o`) ? [] : [said]);
  const other = await render({ [GIVEN]: whole }, []);
  const isSame = other.generated?.data[KEY] === first.generated?.data[KEY];
  check('a generated password differs for each installation', isSame ? ['it is the same'] : []);

  const there = { [GIVEN]: whole, [GENERATED]: { [KEY]: password } };
  for (const args of [['--is-upgrade'], []]) {
    const again = await render(there, args);
    const stays = again.generated?.data[KEY] === base64(password);
    check(`a generated password is kept with ${args.join() || 'another installation'}`, [
      ...faultsOf(again, GENERATED),
      ...(stays ? [] : ['it is another one']),
    ]);
  }
  const upgraded = await render({ [GIVEN]: whole }, ['--is-upgrade']);
  check('no password is generated if there is an owner already', [
    ...faultsOf(upgraded, GIVEN),
    ...(upgraded.generated === undefined ? [] : ['one is generated']),
  ]);
}

/** Checks that an upgrade replaces exactly the pods whose Secrets have changed. */
export async function checkSecretsReplacePods(check, files) {
  const secrets = {
    [GIVEN]: { 'mesh-key': 'a', 'secret-key': 'b', 'secrets-key': 'c' },
    mongodb: { url: 'mongodb://m' },
  };
  const render = (changed) => withCluster({ ...secrets, ...changed }, files, (helmIn) => checksums(helmIn));
  const before = await render({});
  const same = await render({});
  const other = await render({ unrelated: { a: 'b' } });
  const changed = await render({ [GIVEN]: { ...secrets[GIVEN], 'mesh-key': 'd' } });
  const differing = (after) => [...before].filter(([name, sum]) => after.get(name) !== sum).map(([name]) => name);
  check('pods that read Secrets carry their checksum', before.size > 0 ? [] : ['none does']);
  check('pods are kept if none of their Secrets has changed', [...differing(same), ...differing(other)]);
  const kept = [...before.keys()].filter((name) => !differing(changed).includes(name));
  check('an upgrade replaces the pods whose Secret has changed', kept);
}

/** Checks that an upgrade that turns on autoscaling, or that happens with it, keeps the current number of replicas. */
export async function checkReplicas(check, files) {
  const gateway = `${RELEASE}-gateway`;
  const least = 2;
  const scaled = [
    '--set',
    `services.gateway.autoscaling.enabled=true,services.gateway.autoscaling.minReplicas=${least}`,
  ];
  const after = (replicas, args) =>
    withCluster({ [GIVEN]: {} }, files, (helmIn) => replicasOf(helmIn, [...args, '--is-upgrade'], gateway), {
      [gateway]: replicas,
    });
  for (const [ran, expected] of [
    [5, 5],
    [1, least],
    [0, least],
  ]) {
    const now = await after(ran, scaled);
    check(`an upgrade to autoscaling makes ${ran} replicas ${expected}`, now === expected ? [] : [`there are ${now}`]);
  }
  const fixed = await after(0, ['--set', 'services.gateway.replicas=3']);
  check('an upgrade restores replicas that were scaled to 0', fixed === 3 ? [] : [`there are ${fixed}`]);
  const stopped = await after(5, [...scaled, '--set', 'stopped=true']);
  check('stopped scales to 0', stopped === 0 ? [] : [`there are ${stopped}`]);
}

async function replicasOf(helmIn, args, name) {
  const objects = parse(await helmIn(['template'], args));
  return objects.find(({ kind, metadata }) => kind === 'Deployment' && metadata.name === name).spec.replicas;
}

/** Returns the checksums of workloads' pods by name. */
async function checksums(helmIn) {
  const objects = parse(await helmIn(['template'], ['--is-upgrade']));
  const found = objects
    .filter(({ kind }) => kind === 'Deployment')
    .map(({ metadata, spec }) => [metadata.name, spec.template.metadata.annotations?.['checksum/config']]);
  return new Map(found.filter(([, sum]) => sum !== undefined));
}

/** Returns the faults of the Secret from which the bootstrap job reads the password. */
function faultsOf({ source }, expected) {
  return source === expected ? [] : [`the job reads it from ${source}, not ${expected}`];
}

/** Returns the objects for the password that helm renders against a cluster. */
async function rendered(helmIn, args) {
  const objects = parse(await helmIn(['template'], args));
  const job = objects.find(({ kind, metadata }) => kind === 'Job' && metadata.name.endsWith('-bootstrap'));
  const { env } = job.spec.template.spec.containers[0];
  const variable = env.find(({ name }) => name === 'COMMONPLACE_OWNER_PASSWORD');
  return {
    source: variable?.valueFrom.secretKeyRef.name,
    generated: objects.find(({ kind, metadata }) => kind === 'Secret' && metadata.name === GENERATED),
  };
}

/** Calls a function with a helm that can read from a cluster with these Secrets. */
async function withCluster(secrets, files, act, deployments = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'commonplace-cluster-'));
  const server = await serve(secrets, deployments, [...parse(await template(files)), SCALER]);
  try {
    const kubeconfig = join(folder, 'config');
    await writeFile(kubeconfig, kubeconfigOf(`http://127.0.0.1:${server.address().port}`));
    const env = { PATH: process.env.PATH, HOME: folder, KUBECONFIG: kubeconfig };
    const options = ['--namespace', NAMESPACE, '--dry-run=server', '--disable-openapi-validation'];
    const values = files.flatMap((file) => ['-f', file]);
    return await act(async (command, args) => {
      const all = [...command, RELEASE, CHART, ...options, ...values, ...args];
      const { code, stdout, stderr } = await helm(all, { env });
      if (code !== 0) throw new Error(stderr.trim());
      return stdout;
    });
  } finally {
    server.closeAllConnections();
    server.close();
    await rm(folder, { recursive: true, force: true });
  }
}

const kubeconfigOf = (server) =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'test', cluster: { server } }],
    users: [{ name: 'test', user: {} }],
    contexts: [{ name: 'test', context: { cluster: 'test', user: 'test' } }],
    'current-context': 'test',
  });

/** Serves the part of a Kubernetes API that helm calls before it installs, for the kinds of these objects. */
async function serve(secrets, deployments, objects) {
  const status = { kind: 'Status', apiVersion: 'v1', status: 'Failure', reason: 'NotFound', code: 404 };
  const answers = {
    '/version': { major: '1', minor: '36', gitVersion: 'v1.36.3' },
    '/api': { kind: 'APIVersions', versions: ['v1'] },
    '/apis': { kind: 'APIGroupList', groups: [] },
  };
  for (const { apiVersion, kind } of objects) {
    const path = apiVersion === 'v1' ? '/api/v1' : `/apis/${apiVersion}`;
    const plural = `${kind.toLowerCase()}s`;
    answers[path] ??= { kind: 'APIResourceList', groupVersion: apiVersion, resources: [] };
    const { resources } = answers[path];
    if (resources.some(({ name }) => name === plural)) continue;
    resources.push({ name: plural, singularName: '', kind, namespaced: true, verbs: ['get', 'list', 'create'] });
    answers[`${path}/namespaces/${NAMESPACE}/${plural}`] = { kind: `${kind}List`, apiVersion, items: [] };
  }
  for (const path of Object.keys(answers).filter((one) => /^\/apis\/[^/]+\/[^/]+$/.test(one))) {
    const [, , name, version] = path.split('/');
    const preferredVersion = { groupVersion: `${name}/${version}`, version };
    answers['/apis'].groups.push({ name, versions: [preferredVersion], preferredVersion });
  }
  for (const [name, values] of Object.entries(secrets)) {
    const data = Object.fromEntries(Object.entries(values).map(([key, value]) => [key, base64(value)]));
    const path = `/api/v1/namespaces/${NAMESPACE}/secrets/${name}`;
    answers[path] = { apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace: NAMESPACE, ...OF_RELEASE }, data };
  }
  for (const [name, replicas] of Object.entries(deployments)) {
    const pod = { spec: { containers: [{ name: 'a', env: [{ name: 'COMMONPLACE_TLS_CERT' }] }] } };
    answers[`/apis/apps/v1/namespaces/${NAMESPACE}/deployments/${name}`] = {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name, namespace: NAMESPACE, ...OF_RELEASE },
      spec: { replicas, template: pod },
    };
  }
  const server = createServer((request, response) => {
    const found = answers[new URL(request.url, 'http://cluster').pathname];
    response.writeHead(found === undefined ? 404 : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(found ?? status));
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}
