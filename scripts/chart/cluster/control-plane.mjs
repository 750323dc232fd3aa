// Starts a Kubernetes control plane on loopback: API server, etcd, controllers and scheduler. Nodes and pods are
// simulated by kwok, so no container, image or probe ever runs.
import { spawn } from 'node:child_process';
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { createWriteStream, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { dirname, join } from 'node:path';
import { stringify } from 'yaml';
import { freePorts } from '../../ports.mjs';
import { installTool } from '../../servers.mjs';

const PATIENCE_MS = 180_000;
const STOP_MS = 5000;
const STAGES = join(import.meta.dirname, 'stages.yaml');

/** Starts the control plane with its files in `folder`. Returns the path of a kubeconfig, and `stop`. */
export async function startControlPlane(folder) {
  const bin = dirname(await installTool('kubernetes'));
  const [client, peer, api, controllers, scheduler, kwok] = await freePorts(6);
  const etcd = `http://127.0.0.1:${client}`;
  const token = randomBytes(16).toString('hex');
  const kubeconfig = join(folder, 'kubeconfig');
  writeKeys(folder, token);
  writeFileSync(kubeconfig, kubeconfigOf(folder, api, token), { mode: 0o600 });
  const running = [];
  const start = (name, args) => running.push(startProgram(join(bin, name), args, folder));
  const stop = async () => {
    for (const one of running.reverse()) await one.stop();
  };
  try {
    start('etcd', etcdArgs(client, peer));
    await until(() => answers(`${etcd}/health`), running);
    start('kube-apiserver', apiArgs(etcd, api));
    await until(() => answersSecurely(folder, api, token), running);
    const own = ['--kubeconfig=kubeconfig', '--leader-elect=false', '--bind-address=127.0.0.1'];
    start('kube-controller-manager', [...own, ...controllerArgs(controllers)]);
    start('kube-scheduler', [...own, `--secure-port=${scheduler}`, '--cert-dir=scheduler']);
    start('kwok', kwokArgs(join(bin, 'stages'), kwok));
  } catch (error) {
    await stop();
    throw error;
  }
  return { kubeconfig, stop };
}

function etcdArgs(client, peer) {
  const [own, others] = [`http://127.0.0.1:${client}`, `http://127.0.0.1:${peer}`];
  const urls = [`--listen-client-urls=${own}`, `--advertise-client-urls=${own}`, `--listen-peer-urls=${others}`];
  const cluster = [`--initial-advertise-peer-urls=${others}`, `--initial-cluster=one=${others}`];
  // Syncing is off, because the data need not survive the run.
  return ['--name=one', '--data-dir=etcd', ...urls, ...cluster, '--unsafe-no-fsync'];
}

function apiArgs(etcd, port) {
  return [
    `--etcd-servers=${etcd}`,
    '--bind-address=127.0.0.1',
    `--secure-port=${port}`,
    '--cert-dir=certs',
    '--service-account-issuer=https://kubernetes.default.svc',
    '--service-account-key-file=accounts.pub',
    '--service-account-signing-key-file=accounts.key',
    '--token-auth-file=tokens.csv',
    '--authorization-mode=RBAC',
    '--service-cluster-ip-range=10.96.0.0/16',
    '--endpoint-reconciler-type=none',
  ];
}

function controllerArgs(port) {
  const account = ['--service-account-private-key-file=accounts.key', '--root-ca-file=certs/apiserver.crt'];
  return [...account, `--secure-port=${port}`, '--cert-dir=controllers', '--horizontal-pod-autoscaler-sync-period=5s'];
}

function kwokArgs(stages, port) {
  const files = [...readdirSync(stages).map((file) => join(stages, file)), STAGES];
  const configs = files.map((file) => `--config=${file}`);
  const server = `--server-address=127.0.0.1:${port}`;
  return ['--kubeconfig=kubeconfig', '--manage-all-nodes=true', server, '--node-lease-duration-seconds=40', ...configs];
}

function writeKeys(folder, token) {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    privateKeyEncoding: { type: 'pkcs1', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'pem' },
  });
  writeFileSync(join(folder, 'accounts.key'), privateKey, { mode: 0o600 });
  writeFileSync(join(folder, 'accounts.pub'), publicKey);
  writeFileSync(join(folder, 'tokens.csv'), `${token},admin,admin,system:masters\n`, { mode: 0o600 });
}

function kubeconfigOf(folder, port, token) {
  const cluster = { server: `https://127.0.0.1:${port}`, 'certificate-authority': join(folder, 'certs/apiserver.crt') };
  return stringify({
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'local', cluster }],
    users: [{ name: 'admin', user: { token } }],
    contexts: [{ name: 'local', context: { cluster: 'local', user: 'admin' } }],
    'current-context': 'local',
  });
}

/** Starts a program. Its output goes to a separate file in the folder. */
function startProgram(program, args, folder) {
  const log = join(folder, `${program.slice(program.lastIndexOf('/') + 1)}.out`);
  const child = spawn(program, args, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
  const output = createWriteStream(log);
  child.stdout.pipe(output);
  child.stderr.pipe(output);
  let ended = false;
  const exited = new Promise((resolve) =>
    child.once('exit', () => {
      ended = true;
      resolve();
    }),
  );
  return {
    why: () => (ended ? `${program} ended:\n${readFileSync(log, 'utf8').slice(-2000)}` : undefined),
    stop: async () => {
      child.kill('SIGTERM');
      const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS);
      await exited;
      clearTimeout(timer);
    },
  };
}

/** Waits until a condition is true. Throws when a program ends, or after a timeout. */
async function until(ask, running) {
  const end = Date.now() + PATIENCE_MS;
  while (!(await ask().catch(() => false))) {
    const reason = running.map(({ why }) => why()).find((text) => text !== undefined);
    if (reason !== undefined) throw new Error(reason);
    if (Date.now() > end) throw new Error('the control plane did not become ready in time');
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

const answers = async (url) => (await fetch(url)).ok;

async function answersSecurely(folder, port, token) {
  const ca = readFileSync(join(folder, 'certs/apiserver.crt'));
  const headers = { authorization: `Bearer ${token}` };
  return new Promise((resolve, reject) => {
    const asked = request({ host: '127.0.0.1', port, path: '/readyz', ca, headers }, (answer) => {
      answer.resume();
      resolve(answer.statusCode === 200);
    });
    asked.once('error', reject).end();
  });
}
