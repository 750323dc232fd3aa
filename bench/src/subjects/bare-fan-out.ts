// Serves as the limit for delivering one message to many: a Node HTTP server that writes each posted message to every
// open stream.
import { readFileSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';

const { port } = JSON.parse(readFileSync(process.env.LIMIT_FILE ?? '', 'utf8')) as { readonly port: number };
const streams = new Set<ServerResponse>();
let count = 0;

createServer((incoming, outgoing) => {
  if (incoming.method === 'GET') {
    outgoing.writeHead(200, { 'content-type': 'text/event-stream' });
    outgoing.write('retry: 2000\n\nid: 0\nevent: position\ndata: {}\n\n');
    streams.add(outgoing);
    outgoing.once('close', () => streams.delete(outgoing));
    return;
  }
  const chunks: Buffer[] = [];
  incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
  incoming.once('end', () => {
    const { text } = JSON.parse(Buffer.concat(chunks).toString('utf8')) as { readonly text: string };
    outgoing.writeHead(201, { 'content-type': 'application/json' });
    outgoing.end('{"data":{}}');
    const frame = `id: ${++count}\nevent: message.created\ndata: ${JSON.stringify({ data: { text } })}\n\n`;
    for (const stream of streams) stream.write(frame);
  });
}).listen(port, '127.0.0.1', () => console.log('ready'));
