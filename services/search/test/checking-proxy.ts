import { Agent, createServer, request as send } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Check, WireRequest } from './openapi.js';

/** Forwards requests to a server and checks each of them. */
export interface CheckingProxy {
  readonly url: string;
  /** All requests that were sent. */
  readonly requests: WireRequest[];
  /** What was wrong with them. */
  readonly faults: string[];
  close(): Promise<void>;
}

export async function openCheckingProxy(target: string, check: Check): Promise<CheckingProxy> {
  const agent = new Agent({ keepAlive: true });
  const requests: WireRequest[] = [];
  const faults: string[] = [];
  const server = createServer((incoming, outgoing) => {
    const parts: Buffer[] = [];
    incoming.on('data', (part: Buffer) => parts.push(part));
    incoming.on('end', () => {
      const { method = '', url = '', headers } = incoming;
      const body = Buffer.concat(parts);
      const request = { method, url, headers, body: body.toString('utf8') };
      requests.push({ ...request, body: request.body.slice(0, 200) });
      faults.push(...check(request).map((fault) => `${method} ${url.slice(0, 100)}: ${fault}`));
      const onward = send(`${target}${url}`, { method, headers, agent }, (answer) => {
        outgoing.writeHead(answer.statusCode ?? 500, answer.headers);
        answer.pipe(outgoing);
      });
      onward.on('error', () => outgoing.destroy());
      onward.end(body);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    faults,
    close: () =>
      new Promise((resolve) => {
        agent.destroy();
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}
