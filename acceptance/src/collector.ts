import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A span in the form in which a collector received it. */
export interface CollectedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly name: string;
  /** Kind of the span: 1 internal, 2 server, 3 client, 4 producer, 5 consumer. */
  readonly kind: number;
  readonly service: string;
  readonly attributes: Readonly<Record<string, unknown>>;
}

/** A fake OpenTelemetry collector, which receives OTLP JSON over HTTP and stores it. */
export interface Collector {
  readonly url: string;
  readonly spans: readonly CollectedSpan[];
  /** Names of the metrics received. */
  readonly metrics: ReadonlySet<string>;
  /** Number of received exports, whether answered or not. */
  readonly exports: number;
  close(): Promise<void>;
}

interface Attribute {
  readonly key: string;
  readonly value: Readonly<Record<string, unknown>>;
}

interface RawSpan extends Omit<CollectedSpan, 'attributes' | 'service'> {
  readonly attributes: readonly Attribute[];
}

interface Body {
  readonly resourceSpans?: readonly {
    readonly resource: { readonly attributes: readonly Attribute[] };
    readonly scopeSpans: readonly { readonly spans: readonly RawSpan[] }[];
  }[];
  readonly resourceMetrics?: readonly {
    readonly scopeMetrics: readonly { readonly metrics: readonly { readonly name: string }[] }[];
  }[];
}

/**
 * Starts a collector on a free port. A `silent` collector accepts connections but never answers. Exports are parsed
 * only when their contents are read, so that parsing does not disturb measurements.
 */
export async function startCollector({ silent = false } = {}): Promise<Collector> {
  const spans: CollectedSpan[] = [];
  const metrics = new Set<string>();
  const unread: Buffer[] = [];
  let exports = 0;
  const keep = ({ resourceSpans = [], resourceMetrics = [] }: Body) => {
    for (const { resource, scopeSpans } of resourceSpans) {
      const service = String(valuesOf(resource.attributes)['service.name']);
      for (const span of scopeSpans.flatMap((scope) => scope.spans)) {
        spans.push({ ...span, service, attributes: valuesOf(span.attributes) });
      }
    }
    for (const { scopeMetrics } of resourceMetrics) {
      for (const { name } of scopeMetrics.flatMap((scope) => scope.metrics)) metrics.add(name);
    }
  };
  const readAll = () => {
    for (const body of unread.splice(0)) keep(JSON.parse(body.toString('utf8')) as Body);
  };
  const server = createServer((request, response) => {
    exports++;
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      if (silent) return;
      unread.push(Buffer.concat(chunks));
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    get spans() {
      readAll();
      return spans;
    },
    get metrics() {
      readAll();
      return metrics;
    },
    get exports() {
      return exports;
    },
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

function valuesOf(attributes: readonly Attribute[]): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));
}
