// Starts the scripted chat server alone:
//   node kit/dist/src/testing/chat-server/main.js [--port 8088] [--key KEY] [--scripts FILE]
// FILE is a JSON list of scripts. `POST /control/scripts` adds one, `GET /control/calls` shows the calls and what was
// billed, `POST /control/reset` forgets both.
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import type { Script } from './script.js';
import { openChatServer } from './server.js';

const { port, key, scripts } = parseArgs({
  options: { port: { type: 'string', default: '8088' }, key: { type: 'string' }, scripts: { type: 'string' } },
}).values;

const server = await openChatServer({ port: Number(port), ...(key === undefined ? {} : { key }) });
if (scripts !== undefined)
  for (const script of JSON.parse(readFileSync(scripts, 'utf8')) as Script[]) server.script(script);
console.log(`COMMONPLACE_CHAT_MODEL_URL=${server.url}`);
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => void server.close());
