// `npm run test:mcp-conformance`: runs the public conformance suite of the Model Context Protocol against a server of ours.
// `baseline.yml` names the scenarios that do not apply, each with its reason. Where the suite can't be installed, it prints
// that it skips it.
import { spawn } from 'node:child_process';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ROOT, startSystem } from '../system.js';

const BASELINE = join(ROOT, 'acceptance/src/mcp-conformance/baseline.yml');

const { installTool } = (await import(pathToFileURL(join(ROOT, 'scripts/servers.mjs')).href)) as {
  installTool(name: string): Promise<string>;
};

/** Passes requests on with a key, which the suite can't send. Everything else of them, such as `Host`, stays as it is. */
async function openDoor(target: URL, key: string) {
  const server = createServer((incoming, outgoing) => {
    const headers = { ...incoming.headers, authorization: `Bearer ${key}` };
    const sent = request(new URL(incoming.url ?? '/', target), { method: incoming.method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    sent.once('error', () => outgoing.destroy());
    incoming.pipe(sent);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`, close: () => server.close() };
}

function run(program: string, args: readonly string[]): Promise<number> {
  return new Promise((resolve) => {
    spawn(program, args, { stdio: 'inherit' }).once('exit', (code) => resolve(code ?? 1));
  });
}

const program = await installTool('mcp-conformance').catch(() => undefined);
if (program === undefined) {
  console.log('skipped: the conformance suite of the Model Context Protocol can not be installed here');
  process.exit(0);
}
const system = await startSystem();
const door = await openDoor(new URL(system.baseUrl), system.owner.apiKey);
try {
  const args = ['server', '--url', door.url, '--expected-failures', BASELINE, '--suite', 'all'];
  process.exitCode = await run(program, args);
} finally {
  door.close();
  await system.stop();
}
