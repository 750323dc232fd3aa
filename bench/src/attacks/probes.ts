import { crc32, deflateSync } from 'node:zlib';
import { sentence } from '../fill.js';
import type { Client } from '../http.js';
import { createDocument, type Place } from './world.js';

/** A request of the other Org. Probes are sent one after another during an attack. */
export interface Probe {
  readonly name: string;
  /** How often the request is sent in each round, so that there are enough of the quick ones for a percentile. */
  readonly perRound: number;
  /** Sends the request. Rejects if the answer is wrong. */
  run(): Promise<unknown>;
}

/** Address of the reader, as the gateway's proxy names it: what nobody signs in for is shared by networks. */
const ADDRESS = { 'x-forwarded-for': '198.51.100.1' };

/** Creates the probes: reads, conversions of a page of 4 KB, and small images. */
export async function createProbes({ client, workspaceId }: Place): Promise<readonly Probe[]> {
  const [read, written] = [
    await createDocument(client, workspaceId, { content: sentence(1, 100) }),
    await createDocument(client, workspaceId, { content: 'Text' }),
  ];
  let count = 0;
  return [
    { name: 'read', perRound: 20, run: () => client.ask('GET', `/resources/${read}/content`) },
    {
      name: 'convert',
      perRound: 1,
      async run() {
        const html = Array.from({ length: 8 }, () => `<p>${sentence(count++, 70)}</p>`).join('\n');
        await client.ask('PATCH', `/resources/${written}/content`, { html });
        await client.ask('GET', `/resources/${written}/content?format=json`);
      },
    },
    { name: 'thumbnail', perRound: 1, run: () => readThumbnail(client, workspaceId, count++) },
  ];
}

async function readThumbnail(client: Client, workspaceId: string, number: number): Promise<void> {
  const content = png(64 + (number % 512)).toString('base64');
  const body = { name: `${number}.png`, workspace_id: workspaceId, content_base64: content };
  const { resource } = await client.ask<{ resource: { id: string } }>('POST', '/files', body);
  const file = await client.ask<{ thumbnail_url: string }>('GET', `/resources/${resource.id}/file`);
  const answer = await fetch(file.thumbnail_url, { headers: ADDRESS });
  if (!answer.ok) throw new Error(`the small image answers ${answer.status}`);
  await answer.arrayBuffer();
}

/** Encodes a grey square as PNG. */
function png(side: number): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(side, 0);
  header.writeUInt32BE(side, 4);
  header.set([8, 0, 0, 0, 0], 8);
  const pixels = deflateSync(Buffer.alloc((side + 1) * side, side % 2));
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  return Buffer.concat([signature, chunk('IHDR', header), chunk('IDAT', pixels), chunk('IEND', Buffer.alloc(0))]);
}

function chunk(name: string, data: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(name, 'latin1'), data]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  sum.writeUInt32BE(crc32(named) >>> 0);
  return Buffer.concat([length, named, sum]);
}
