// Runs a command with real servers: `node scripts/with-servers.mjs CMD…`. Servers named by COMMONPLACE_MONGODB_URL,
// COMMONPLACE_NATS_URL, COMMONPLACE_S3_URL and COMMONPLACE_TYPESENSE_URL are used instead of starting new ones.
import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { startServers } from './servers.mjs';

const [command, ...args] = process.argv.slice(2);
if (command === undefined) {
  console.error('usage: node scripts/with-servers.mjs COMMAND [ARGUMENT…]');
  process.exit(64);
}

const named = ['MONGODB', 'NATS', 'S3', 'TYPESENSE'].every((name) => process.env[`COMMONPLACE_${name}_URL`]);
const servers = named ? undefined : await startServers();
const child = spawn(command, args, { stdio: 'inherit', env: { ...servers?.env, ...present(process.env) } });
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));

const code = await new Promise((resolve) => {
  child.once('error', (error) => {
    console.error(`${command}: ${error.message}`);
    resolve(127);
  });
  child.once('exit', (status, signal) => resolve(status ?? 128 + constants.signals[signal]));
});
await servers?.stop();
process.exit(code);

/** Returns the variables that are not empty, because empty ones would hide the servers that were started. */
function present(env) {
  return Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ''));
}
