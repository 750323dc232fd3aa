// `npm run test:mcp-conformance`: runs the public conformance suite of the Model Context Protocol against our server.
// `baseline.yml` lists the scenarios that do not apply, each with its reason. If the suite can't be installed, it
// prints that it skips the suite.
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

/**
 * Starts a proxy that adds a key to each request, because the suite can't send one. Everything else, such as `Host`,
 * stays unchanged.
 */
async function startKeyProxy(target: URL, key: string) {
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
const proxy = await startKeyProxy(new URL(system.baseUrl), system.owner.apiKey);
try {
  const args = ['server', '--url', proxy.url, '--expected-failures', BASELINE, '--suite', 'all'];
  process.exitCode = await run(program, args);
} finally {
  proxy.close();
  await system.stop();
}
