// Grafana dashboards, defined by a line for each panel. `npm run chart` writes them below
// charts/commonplace/dashboards.

const rate = (metric, by, more = '') => `sum by (${by}) (rate(${metric}{${SCOPE}${more}}[$__rate_interval]))`;
const quantile = (q, metric, by) =>
  `histogram_quantile(${q}, sum by (${[by, 'le'].filter(Boolean).join(', ')}) (rate(${metric}_bucket{${SCOPE}}[$__rate_interval])))`;
const top = (count, expr) => `topk(${count}, ${expr})`;
/** Limits a panel to the installation selected at the top of the dashboard. */
const SCOPE = 'namespace=~"$namespace"';

const HTTP = 'http_server_request_duration_seconds';
const RPC = 'rpc_server_call_duration_seconds';
const RPC_CLIENT = 'rpc_client_call_duration_seconds';
const DB = 'db_client_operation_duration_seconds';
const PROCESS = 'messaging_process_duration_seconds';
const OUT = 'http_client_request_duration_seconds';
const CONSUMER = 'messaging_consumer_group_name';

/** Rows of panels: title, unit, then [legend, query] for each line. */
const DASHBOARDS = {
  overview: {
    title: 'Commonplace: requests',
    rows: {
      'The HTTP API': [
        [
          'Requests by status',
          'reqps',
          ['{{http_response_status_code}}', rate(`${HTTP}_count`, 'http_response_status_code')],
        ],
        ['Share that fails', 'percentunit', ['{{namespace}}', `commonplace:http_errors:ratio5m{${SCOPE}}`]],
        [
          'Duration',
          's',
          ['p50', quantile(0.5, HTTP)],
          ['p95', `commonplace:http_duration_seconds:p95_5m{${SCOPE}}`],
          ['p99', quantile(0.99, HTTP)],
        ],
        [
          'Most asked for',
          'reqps',
          ['{{http_request_method}} {{http_route}}', top(10, `commonplace:http_requests:rate5m{${SCOPE}}`)],
        ],
        ['Slowest by route, p95', 's', ['{{http_route}}', top(10, quantile(0.95, HTTP, 'http_route'))]],
        [
          'Refused and replayed',
          'reqps',
          ['rate limit {{policy}}', rate('ratelimit_rejected_total', 'policy')],
          ['{{reason}}', rate('authz_denied_total', 'reason')],
          ['replayed', rate('idempotency_replays_total', 'namespace')],
        ],
      ],
      'Calls between services': [
        ['Calls served', 'reqps', ['{{rpc_method}}', top(10, rate(`${RPC}_count`, 'rpc_method'))]],
        ['Duration of calls, p95', 's', ['{{rpc_method}}', top(10, quantile(0.95, RPC_CLIENT, 'rpc_method'))]],
        [
          'Share that fails',
          'percentunit',
          ['{{rpc_method}}', top(10, `commonplace:rpc_faults:ratio5m{${SCOPE}} > 0`)],
        ],
      ],
      Stores: [
        [
          'Operations',
          'ops',
          ['{{db_namespace}} {{db_operation_name}}', top(10, rate(`${DB}_count`, 'db_namespace, db_operation_name'))],
        ],
        [
          'Duration, p99',
          's',
          ['{{db_namespace}} {{db_operation_name}}', top(10, `commonplace:db_duration_seconds:p99_5m{${SCOPE}}`)],
        ],
        [
          'Requests to servers elsewhere, p95',
          's',
          ['{{http_request_method}}', quantile(0.95, OUT, 'http_request_method')],
        ],
      ],
      Processes: [
        ['Event loop, p99 of its delay', 's', ['{{instance}}', `nodejs_eventloop_delay_p99_seconds{${SCOPE}}`]],
        ['Event loop, busy', 'percentunit', ['{{instance}}', `nodejs_eventloop_utilization_ratio{${SCOPE}}`]],
        ['Memory', 'bytes', ['{{instance}}', `process_memory_usage_bytes{${SCOPE}}`]],
        ['Processor time', 'percentunit', ['{{instance}}', rate('process_cpu_time_seconds_total', 'instance')]],
      ],
    },
  },
  background: {
    title: 'Commonplace: events and upkeep',
    rows: {
      Events: [
        ['Not published yet', 'short', ['{{outbox_name}}', `max by (outbox_name) (outbox_pending{${SCOPE}})`]],
        [
          'Oldest that is not published',
          's',
          ['{{outbox_name}}', `max by (outbox_name) (outbox_oldest_age_seconds{${SCOPE}})`],
        ],
        ['Waiting for a consumer', 'short', [`{{${CONSUMER}}}`, `max by (${CONSUMER}) (consumer_lag{${SCOPE}})`]],
        ['Given again', 'eps', [`{{${CONSUMER}}}`, rate('consumer_redelivered_total', CONSUMER)]],
        ['Set aside', 'short', [`{{${CONSUMER}}}`, `max by (${CONSUMER}) (dlq_size{${SCOPE}})`]],
        ['Duration of consumers, p95', 's', [`{{${CONSUMER}}}`, quantile(0.95, PROCESS, CONSUMER)]],
      ],
      'Background jobs': [
        ['Due', 'short', ['{{job_queue_name}}', `max by (job_queue_name) (job_queue_due{${SCOPE}})`]],
        ['Given up', 'short', ['{{job_queue_name}}', `max by (job_queue_name) (job_queue_dead{${SCOPE}})`]],
        [
          'Turns that failed',
          'cps',
          ['{{job_queue_name}}', rate('job_queue_ended_total', 'job_queue_name', ', job_outcome=~"failed|given_up"')],
        ],
      ],
      Upkeep: [
        [
          'The search index is behind by',
          's',
          ['{{namespace}}', `max by (namespace) (search_index_lag_seconds{${SCOPE}})`],
        ],
        ['Since the last backup', 's', ['{{namespace}}', `max by (namespace) (backup_age_seconds{${SCOPE}})`]],
        ['Form of what is stored', 'short', ['{{store_name}}', `max by (store_name) (migration_version{${SCOPE}})`]],
        ['Keys of tokens fetched', 'cps', ['{{namespace}}', rate('jwks_fetches_total', 'namespace')]],
      ],
    },
  },
};

const WIDTH = 24;
const HEIGHT = 8;

/** Returns the dashboards' files by their paths in the chart. */
export function dashboards() {
  return Object.fromEntries(
    Object.entries(DASHBOARDS).map(([name, { title, rows }]) => [
      `dashboards/${name}.json`,
      `${JSON.stringify(dashboard(`commonplace-${name}`, title, rows), null, 2)}\n`,
    ]),
  );
}

function dashboard(uid, title, rows) {
  const panels = [];
  let y = 0;
  for (const [row, charts] of Object.entries(rows)) {
    panels.push({
      id: panels.length + 1,
      type: 'row',
      title: row,
      collapsed: false,
      panels: [],
      gridPos: place(0, y, WIDTH, 1),
    });
    y += 1;
    const columns = charts.length % 3 === 0 ? 3 : 2;
    for (const [i, chart] of charts.entries()) {
      const width = WIDTH / columns;
      const at = place((i % columns) * width, y + Math.floor(i / columns) * HEIGHT, width, HEIGHT);
      panels.push(panel(panels.length + 1, at, chart));
    }
    y += Math.ceil(charts.length / columns) * HEIGHT;
  }
  return {
    uid,
    title,
    tags: ['commonplace'],
    schemaVersion: 39,
    editable: false,
    graphTooltip: 1,
    refresh: '30s',
    time: { from: 'now-3h', to: 'now' },
    templating: { list: [SOURCE_CHOICE, NAMESPACE_CHOICE] },
    panels,
  };
}

const place = (x, y, w, h) => ({ x, y, w, h });
const SOURCE = { type: 'prometheus', uid: '$source' };
const SOURCE_CHOICE = { name: 'source', label: 'Source', type: 'datasource', query: 'prometheus' };
const NAMESPACE_CHOICE = {
  name: 'namespace',
  label: 'Namespace',
  type: 'query',
  datasource: SOURCE,
  query: 'label_values(process_memory_usage_bytes, namespace)',
  // Metrics without a namespace belong to a single installation.
  includeAll: true,
  allValue: '.*',
  current: { text: 'All', value: '$__all' },
  refresh: 2,
};

function panel(id, gridPos, [title, unit, ...lines]) {
  return {
    id,
    type: 'timeseries',
    title,
    datasource: SOURCE,
    gridPos,
    fieldConfig: {
      defaults: { unit, min: 0, custom: { lineWidth: 1, fillOpacity: 8, showPoints: 'never' } },
      overrides: [],
    },
    options: { legend: { displayMode: 'list', placement: 'bottom' }, tooltip: { mode: 'multi', sort: 'desc' } },
    targets: lines.map(([legendFormat, expr], i) => ({
      refId: String.fromCharCode(65 + i),
      datasource: SOURCE,
      expr,
      legendFormat,
    })),
  };
}
