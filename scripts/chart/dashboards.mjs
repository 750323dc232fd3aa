// Defines Grafana dashboards with a line for each panel. `npm run chart` writes them to charts/commonplace/dashboards.

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

const WHO = 'service, pod, instance';
const NAMED = '{{service}} {{pod}} {{instance}}';
const JOB_OUTCOME = ', job_outcome=~"failed|given_up"';

/**
 * Rows of panels. Each panel has a title, a unit, a description, the alert whose runbook it links to, and [legend,
 * query] for each line.
 */
const DASHBOARDS = {
  overview: {
    title: 'Commonplace: requests',
    rows: {
      'The HTTP API': [
        [
          'Requests by status',
          'reqps',
          'Requests answered in a second. 5xx is a fault of ours, 429 and 403 are in _Refused and replayed_.',
          'CommonplaceErrors',
          ['{{http_response_status_code}}', rate(`${HTTP}_count`, 'http_response_status_code')],
        ],
        [
          'Share that fails',
          'percentunit',
          'Share of requests answered 5xx. The objective allows 0.1 % in 30 days.',
          'CommonplaceErrors',
          ['{{namespace}} {{release}}', `commonplace:http_errors:ratio5m{${SCOPE}}`],
        ],
        [
          'Duration',
          's',
          'Time until an answer begins. The objective: 99 % within a second.',
          'CommonplaceSlow',
          ['p50', quantile(0.5, HTTP)],
          ['p95', `commonplace:http_duration_seconds:p95_5m{${SCOPE}}`],
          ['p99', quantile(0.99, HTTP)],
        ],
        [
          'Most asked for',
          'reqps',
          'The ten routes with most requests.',
          'CommonplaceRateLimited',
          ['{{http_request_method}} {{http_route}}', top(10, `commonplace:http_requests:rate5m{${SCOPE}}`)],
        ],
        [
          'Slowest by route, p95',
          's',
          'The ten slowest routes. One that is slow alone is often one client with large lists.',
          'CommonplaceSlow',
          ['{{http_route}}', top(10, quantile(0.95, HTTP, 'http_route'))],
        ],
        [
          'Refused and replayed',
          'reqps',
          'Requests over a rate limit, without the scope or role they need, and answered again for a repeated key.',
          'CommonplaceDenials',
          ['rate limit {{policy}}', rate('ratelimit_rejected_total', 'policy')],
          ['{{reason}}', rate('authz_denied_total', 'reason')],
          ['replayed', rate('idempotency_replays_total', 'namespace')],
        ],
      ],
      Load: [
        [
          'Open requests',
          'short',
          'Requests that are being answered, event streams among them, by pod.',
          'CommonplaceSlow',
          [NAMED, `sum by (${WHO}) (http_server_active_requests{${SCOPE}})`],
        ],
        [
          'Calls in progress',
          'short',
          'Calls that count towards COMMONPLACE_MAX_CONCURRENT, by pod.',
          'CommonplaceErrors',
          [NAMED, `sum by (${WHO}) (load_running{${SCOPE}})`],
        ],
        [
          'Refused for overload',
          'reqps',
          'Searches and background work go first, reads last. `calls`: too many at once; `delay`: no processor time.',
          'CommonplaceErrors',
          [
            `${NAMED} {{load_class}} by {{load_sign}}`,
            `${rate('load_shed_total', `${WHO}, load_class, load_sign`)} > 0`,
          ],
        ],
      ],
      'Calls between services': [
        [
          'Calls served',
          'reqps',
          'The ten methods that are called most, with the service that serves them.',
          'CommonplaceServiceFails',
          ['{{service}} {{rpc_method}}', top(10, rate(`${RPC}_count`, 'service, rpc_method'))],
        ],
        [
          'Duration of calls, p95',
          's',
          'As callers measure it, with the way there and back.',
          'CommonplaceServiceFails',
          ['{{rpc_method}}', top(10, quantile(0.95, RPC_CLIENT, 'rpc_method'))],
        ],
        [
          'Share of calls that fails',
          'percentunit',
          'Calls without a response, or with an error.',
          'CommonplaceServiceFails',
          ['{{rpc_method}}', top(10, `commonplace:rpc_faults:ratio5m{${SCOPE}} > 0`)],
        ],
      ],
      Stores: [
        [
          'Operations',
          'ops',
          'Operations of the store by service and kind.',
          'CommonplaceStoreSlow',
          ['{{db_namespace}} {{db_operation_name}}', top(10, rate(`${DB}_count`, 'db_namespace, db_operation_name'))],
        ],
        [
          'Duration of operations, p99',
          's',
          'MongoDB, or the database in the data folder, whose writes wait for the disk.',
          'CommonplaceStoreSlow',
          ['{{db_namespace}} {{db_operation_name}}', top(10, `commonplace:db_duration_seconds:p99_5m{${SCOPE}}`)],
        ],
        [
          'Requests to servers elsewhere, p95',
          's',
          'Webhooks, imported pages, models, buckets: what this installation asks others for.',
          'CommonplaceSlow',
          ['{{service}} {{http_request_method}}', quantile(0.95, OUT, 'service, http_request_method')],
        ],
        [
          'Connections to MongoDB',
          'short',
          'Connections in use by pod, and operations that wait for one: raise replicas or look for slow operations.',
          'CommonplaceStoreSlow',
          [
            `${NAMED} used`,
            `sum by (${WHO}) (db_client_connection_count{${SCOPE}, db_client_connection_state="used"})`,
          ],
          [`${NAMED} waiting`, `sum by (${WHO}) (db_client_connection_pending_requests{${SCOPE}}) > 0`],
        ],
        [
          'Pools of workers',
          'short',
          'Tasks that run in threads and processes beside the main one, and those that wait for their turn.',
          'CommonplaceSlow',
          [`${NAMED} {{pool_name}} {{state}}`, `sum by (${WHO}, pool_name, state) (worker_pool_tasks{${SCOPE}}) > 0`],
        ],
        [
          'Free share of volumes',
          'percentunit',
          'Of the disk or volume of each data folder. Below a tenth it is time; when it is full, writes are refused.',
          'CommonplaceVolumeFills',
          [NAMED, `min by (${WHO}) (storage_free_bytes{${SCOPE}} / storage_size_bytes{${SCOPE}})`],
        ],
      ],
      Processes: [
        [
          'Event loop, p99 of its delay',
          's',
          'How long work waits for the main thread. Above a quarter of a second people notice.',
          'CommonplaceEventLoopBlocked',
          [NAMED, `nodejs_eventloop_delay_p99_seconds{${SCOPE}}`],
        ],
        [
          'Event loop, busy',
          'percentunit',
          'Share of time in which the main thread works. Near 1 it is the limit: add replicas.',
          'CommonplaceEventLoopBlocked',
          [NAMED, `nodejs_eventloop_utilization_ratio{${SCOPE}}`],
        ],
        [
          'Memory',
          'bytes',
          'Resident memory. Compare with resources.limits.memory, at which the kernel ends the process.',
          'CommonplaceRestarts',
          [NAMED, `process_memory_usage_bytes{${SCOPE}}`],
        ],
        [
          'Processor time',
          'percentunit',
          'Processors in use. Autoscaling aims at 70 % of what is requested.',
          'CommonplaceEventLoopBlocked',
          [NAMED, rate('process_cpu_time_seconds_total', WHO)],
        ],
        [
          'Starts',
          'short',
          'Starts of each process within half an hour.',
          'CommonplaceRestarts',
          [NAMED, `max by (${WHO}) (resets(process_cpu_time_seconds_total{${SCOPE}}[30m]))`],
        ],
        [
          'Certificates end in',
          's',
          'Time until the certificate of each process in the mesh ends.',
          'CommonplaceCertificateExpires',
          [NAMED, `min by (${WHO}) (tls_certificate_not_after_seconds{${SCOPE}}) - time()`],
        ],
      ],
    },
  },
  background: {
    title: 'Commonplace: events and upkeep',
    rows: {
      Events: [
        [
          'Not published yet',
          'short',
          'Events that are committed and have not reached the broker, by service.',
          'CommonplaceOutboxStuck',
          ['{{outbox_name}}', `max by (outbox_name) (outbox_pending{${SCOPE}})`],
        ],
        [
          'Oldest that is not published',
          's',
          'Age of the oldest of these. It is kept for seven days.',
          'CommonplaceOutboxStuck',
          ['{{outbox_name}}', `max by (outbox_name) (outbox_oldest_age_seconds{${SCOPE}})`],
        ],
        [
          'Waiting for a consumer',
          'short',
          'Published events that a consumer has not handled.',
          'CommonplaceConsumerBehind',
          [`{{${CONSUMER}}}`, `max by (${CONSUMER}) (consumer_lag{${SCOPE}})`],
        ],
        [
          'Given again',
          'eps',
          'Events that a consumer failed on and gets once more.',
          'CommonplaceRedeliveries',
          [`{{${CONSUMER}}}`, rate('consumer_redelivered_total', CONSUMER)],
        ],
        [
          'Parked',
          'short',
          'Events set aside after the last attempt, for an operator: `commonplace events list`.',
          'CommonplaceEventsParked',
          [`{{${CONSUMER}}}`, `max by (${CONSUMER}) (dlq_size{${SCOPE}})`],
        ],
        [
          'Duration of consumers, p95',
          's',
          'How long a consumer takes for what it gets at once.',
          'CommonplaceConsumerBehind',
          [`{{service}} {{${CONSUMER}}}`, quantile(0.95, PROCESS, `service, ${CONSUMER}`)],
        ],
      ],
      'Background jobs': [
        [
          'Due',
          'short',
          'Jobs that could run now. A number that only grows means too few workers or one that hangs.',
          'CommonplaceJobsGivenUp',
          ['{{job_queue_name}}', `max by (job_queue_name) (job_queue_due{${SCOPE}})`],
        ],
        [
          'Given up',
          'short',
          'Dead letters, for an operator: `commonplace jobs list`.',
          'CommonplaceJobsGivenUp',
          ['{{job_queue_name}}', `max by (job_queue_name) (job_queue_dead{${SCOPE}})`],
        ],
        [
          'Turns that failed',
          'cps',
          'Failed attempts by pod. They are repeated with growing pauses.',
          'CommonplaceJobsGivenUp',
          [
            '{{service}} {{pod}} {{job_queue_name}}',
            rate('job_queue_ended_total', 'service, pod, job_queue_name', JOB_OUTCOME),
          ],
        ],
      ],
      Webhooks: [
        [
          'Attempts to deliver',
          'cps',
          'Attempts by what became of the delivery. `retried` is a receiver that did not accept.',
          'CommonplaceJobsGivenUp',
          ['{{service}} {{webhook_outcome}}', rate('webhook_attempts_total', 'service, webhook_outcome')],
        ],
        [
          'Targets disabled',
          'short',
          'Targets that were switched off within a day, because they are gone or failed for days. Their owners are notified.',
          'CommonplaceJobsGivenUp',
          ['{{reason}}', `sum by (reason) (increase(webhook_disabled_total{${SCOPE}}[1d]))`],
        ],
      ],
      Upkeep: [
        [
          'The search index is behind by',
          's',
          'Age of the oldest change that cannot be found yet.',
          'CommonplaceSearchBehind',
          ['{{namespace}}', `max by (namespace) (search_index_lag_seconds{${SCOPE}})`],
        ],
        [
          'Since the last backup',
          's',
          'Of an embedded system. A mesh is backed up by the tools of its servers.',
          'CommonplaceBackupOld',
          ['{{namespace}} {{pod}}', `max by (namespace, pod) (backup_age_seconds{${SCOPE}})`],
        ],
        [
          'Form of what is stored',
          'short',
          'Format of the records of each service, as its processes know it. Two lines of one service are an upgrade half way.',
          'CommonplaceFormatsDiffer',
          ['{{store_name}} {{pod}}', `max by (store_name, pod) (migration_version{${SCOPE}})`],
        ],
        [
          'Keys of tokens fetched',
          'cps',
          'Processes that look for a signing key which they do not know.',
          'CommonplaceKeysRefetched',
          ['{{service}} {{pod}}', rate('jwks_fetches_total', 'service, pod')],
        ],
      ],
    },
  },
};

const WIDTH = 24;
const HEIGHT = 8;

/** Returns the files of the dashboards by path in the chart. */
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
  // Metrics without a namespace come from a single installation.
  includeAll: true,
  allValue: '.*',
  current: { text: 'All', value: '$__all' },
  refresh: 2,
};

/** Page with a section for each alert. The chart replaces it with `telemetry.prometheusRule.runbooks`. */
const RUNBOOKS = 'docs/operations.md';

function panel(id, gridPos, [title, unit, description, alert, ...lines]) {
  return {
    id,
    type: 'timeseries',
    title,
    description,
    links: [{ title: `Runbook: ${alert}`, url: `${RUNBOOKS}#${alert.toLowerCase()}`, targetBlank: true }],
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
      // Exemplars link to traces of requests, if Prometheus stores them.
      ...(expr.includes('_bucket{') && { exemplar: true }),
    })),
  };
}
