// Renders metrics as OpenMetrics, the format of Prometheus' page that supports exemplars: for a histogram bucket, the
// trace of a request that fell into it.
import { PrometheusSerializer } from '@opentelemetry/exporter-prometheus';
import { DataPointType, type Histogram, type MetricData, type ResourceMetrics } from '@opentelemetry/sdk-metrics';
import { createBreathe } from '../slices/index.js';
import type { Exemplar } from './instruments.js';

export const OPEN_METRICS = 'application/openmetrics-text';

/** A histogram's value with the exemplars of its buckets, for which the SDK's type has no field. */
export interface WithExemplars extends Histogram {
  readonly exemplars?: readonly (Exemplar | undefined)[];
}

const ofResource = new PrometheusSerializer(undefined, false, undefined, false, true);
const ofMetrics = new PrometheusSerializer(undefined, false, undefined, true, true);
const NOTHING = '# no registered metrics';
/** Number of values that are rendered at a time: a millisecond for histograms. */
const VALUES_AT_ONCE = 20;

/**
 * Returns the page in the plain text format. Other requests run in between: the page of a process that has served many
 * routes is 800 KB.
 */
export async function plainMetricsOf(metrics: ResourceMetrics): Promise<string> {
  let page = '';
  for await (const piece of piecesOf(metrics)) page += piece;
  return metrics.scopeMetrics.some((scope) => scope.metrics.length > 0) ? page : page + NOTHING;
}

/** Returns the page. Names and labels are the same as in the plain text format, so that queries work on both. */
export async function openMetricsOf(metrics: ResourceMetrics): Promise<string> {
  const exemplars = exemplarsOf(metrics);
  let page = '';
  for await (const piece of piecesOf(metrics)) page += openMetricsOfPiece(piece, exemplars);
  return `${page}# EOF\n`;
}

function openMetricsOfPiece(piece: string, exemplars: ReadonlyMap<string, Exemplar>): string {
  const counters = new Set<string>();
  const lines = piece.split('\n');
  for (const line of lines) {
    const [, name] = /^# TYPE (\S+)_total counter$/.exec(line) ?? [];
    if (name !== undefined) counters.add(name);
  }
  const rendered = lines.flatMap((line) => {
    if (line === '' || line.startsWith('# UNIT ')) return [];
    if (line.startsWith('#')) return [headOf(line, counters)];
    const key = keyOfLine(line);
    const exemplar = key === undefined ? undefined : exemplars.get(key);
    return [exemplar === undefined ? line : `${line} ${textOf(exemplar)}`];
  });
  return rendered.map((line) => `${line}\n`).join('');
}

/** Yields the page in pieces, each of which is lines of one metric. Only the first one of a metric has its description. */
async function* piecesOf({ resource, scopeMetrics }: ResourceMetrics): AsyncGenerator<string> {
  const breathe = createBreathe();
  yield ofResource.serialize({ resource, scopeMetrics: [] }).replace(NOTHING, '');
  for (const { scope, metrics } of scopeMetrics) {
    for (const metric of metrics) {
      for (let at = 0; at === 0 || at < metric.dataPoints.length; at += VALUES_AT_ONCE) {
        const some = { ...metric, dataPoints: metric.dataPoints.slice(at, at + VALUES_AT_ONCE) } as MetricData;
        const text = ofMetrics.serialize({ resource, scopeMetrics: [{ scope, metrics: [some] }] });
        yield at === 0 ? text : text.replace(/^#.*\n/gm, '');
        await breathe();
      }
    }
  }
}

/** Returns a `HELP` or `TYPE` line in OpenMetrics, in which a counter's family has no suffix. */
function headOf(line: string, counters: ReadonlySet<string>): string {
  const [, kind, name = '', rest] = /^# (HELP|TYPE) (\S+)(.*)$/.exec(line) ?? [];
  const family = name.replace(/_total$/, '');
  return `# ${kind} ${counters.has(family) ? family : name}${rest === ' untyped' ? ' unknown' : rest}`;
}

function textOf({ value, traceId, spanId, at }: Exemplar): string {
  return `# {trace_id="${traceId}",span_id="${spanId}"} ${value} ${(at / 1000).toFixed(3)}`;
}

/** Returns the exemplars by metric, labels and bound of their bucket. */
function exemplarsOf({ scopeMetrics }: ResourceMetrics): Map<string, Exemplar> {
  const found = new Map<string, Exemplar>();
  for (const { metrics } of scopeMetrics) {
    for (const { descriptor, dataPointType, dataPoints } of metrics) {
      if (dataPointType !== DataPointType.HISTOGRAM) continue;
      for (const { attributes, value } of dataPoints) {
        const { exemplars = [], buckets } = value as WithExemplars;
        for (const [i, exemplar] of exemplars.entries()) {
          if (exemplar === undefined) continue;
          const bound = buckets.boundaries[i];
          const labels = Object.entries(attributes).map(([name, one]) => `${sanitized(name)}="${escaped(one)}"`);
          labels.push(`le="${bound === undefined ? '+Inf' : bound}"`);
          found.set(keyOf(sanitized(descriptor.name), labels), exemplar);
        }
      }
    }
  }
  return found;
}

const sanitized = (name: string) => name.replace(/[^a-z0-9_]/gi, '_').replace(/_{2,}/g, '_');
const escaped = (value: unknown) =>
  (typeof value === 'string' ? value : JSON.stringify(value))
    .replace(/\\/g, '\\\\')
    .replace(/\n/g, '\\n')
    .replace(/"/g, '\\"');
const keyOf = (name: string, labels: readonly string[]) => `${name} ${[...labels].sort().join()}`;

function keyOfLine(line: string): string | undefined {
  const [, name, labels] = /^(\w+)_bucket\{(.*)\} \S+$/.exec(line) ?? [];
  return name === undefined || labels === undefined
    ? undefined
    : keyOf(name, labels.match(/\w+="(?:[^"\\]|\\.)*"/g) ?? []);
}
