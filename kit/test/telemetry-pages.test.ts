import { expect, test } from '@jest/globals';
import { PrometheusSerializer } from '@opentelemetry/exporter-prometheus';
import {
  AggregationTemporality,
  DataPointType,
  type MetricData,
  type ResourceMetrics,
} from '@opentelemetry/sdk-metrics';
import { openMetricsOf, plainMetricsOf } from '../src/telemetry/open-metrics.js';
import { countTurns } from '../src/testing/index.js';

const at = { startTime: [0, 0], endTime: [1, 0] };
const about = (name: string, unit: string) => ({
  descriptor: { name, description: `What ${name} is.`, unit, valueType: 1 },
  aggregationTemporality: AggregationTemporality.CUMULATIVE,
});
const boundaries = Array.from({ length: 14 }, (_, i) => 2 ** i / 1000);
const points = <T>(count: number, value: T) =>
  Array.from({ length: count }, (_, i) => ({
    ...at,
    attributes: { 'http.route': `/a/"${i}"`, code: String(i) },
    value,
  }));

const METRICS = {
  resource: { attributes: { 'service.name': 'all' } },
  scopeMetrics: [
    {
      scope: { name: 'commonplace' },
      metrics: [
        {
          ...{ ...about('call.duration.seconds', 's'), dataPointType: DataPointType.HISTOGRAM },
          dataPoints: points(700, { buckets: { boundaries, counts: boundaries.map(() => 1) }, sum: 3, count: 14 }),
        },
        { ...about('calls', '{call}'), dataPointType: DataPointType.SUM, isMonotonic: true, dataPoints: points(45, 7) },
        { ...about('nothing', ''), dataPointType: DataPointType.GAUGE, dataPoints: [] },
      ] as unknown as MetricData[],
    },
  ],
} as unknown as ResourceMetrics;

test('the page of metrics is that of the exporter, and other requests run while it is rendered', async () => {
  const whole = new PrometheusSerializer(undefined, false, undefined, false, true).serialize(METRICS);
  const turns = await countTurns(async () => {
    expect(await plainMetricsOf(METRICS)).toBe(whole);
  });
  expect(turns).toBeGreaterThan(2);
});

test('an OpenMetrics page describes each metric once, and ends', async () => {
  const page = await openMetricsOf(METRICS);
  expect(page.match(/^# TYPE .*/gm)).toEqual([
    '# TYPE target_info gauge',
    '# TYPE call_duration_seconds histogram',
    '# TYPE calls counter',
    '# TYPE nothing gauge',
  ]);
  expect(page.match(/^calls_total\{/gm)).toHaveLength(45);
  expect(page.endsWith('\n# EOF\n')).toBe(true);
});

test('the page of a process without metrics says so', async () => {
  const none = { ...METRICS, scopeMetrics: [] };
  expect(await plainMetricsOf(none)).toContain('# no registered metrics');
});
