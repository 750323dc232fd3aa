import { integer, list, type Table, url, type Values } from '@commonplace/kit/config';
import { SECRETS_KEY } from '@commonplace/kit/secrets';

export const config = {
  publicUrl: {
    variable: 'COMMONPLACE_PUBLIC_URL',
    help: 'URL that people reach this server by; links to it begin so',
    parse: url('http', 'https'),
    fallback: 'http://127.0.0.1:8080',
  },
  secretsKey: SECRETS_KEY,
  urlAllowlist: {
    variable: 'COMMONPLACE_URL_ALLOWLIST',
    help: 'hosts that may be fetched over http and at addresses that are not public, such as wiki.intern or *.lab.example',
    parse: list,
    fallback: [] as string[],
  },
  runWorkers: {
    variable: 'COMMONPLACE_AUTOMATION_WORKERS',
    help: 'runs of automations that this process works on at the same time',
    parse: integer(0, 1000),
    fallback: 16,
  },
  runDays: {
    variable: 'COMMONPLACE_AUTOMATION_RUN_DAYS',
    help: 'days that a run of an automation is kept after its end',
    parse: integer(1, 3650),
    fallback: 30,
  },
  perWorkspace: {
    variable: 'COMMONPLACE_AUTOMATIONS',
    help: 'automations of one workspace at the most',
    parse: integer(1, 100_000),
    fallback: 200,
  },
  hookBytes: {
    variable: 'COMMONPLACE_AUTOMATION_HOOK_BYTES',
    help: 'bytes of the body of a webhook that starts an automation at the most',
    parse: integer(1024, 8_388_608),
    fallback: 1_048_576,
  },
  queuedRuns: {
    variable: 'COMMONPLACE_AUTOMATION_QUEUE',
    help: 'runs of one automation that wait at the most; more are skipped',
    parse: integer(1, 1_000_000),
    fallback: 1_000,
  },
  disableAfter: {
    variable: 'COMMONPLACE_AUTOMATION_FAILURES',
    help: 'runs of an automation that fail in a row before it is switched off',
    parse: integer(1, 10_000),
    fallback: 20,
  },
  schedulesPerWorkspace: {
    variable: 'COMMONPLACE_SCHEDULES',
    help: 'schedules of one workspace at the most',
    parse: integer(1, 100_000),
    fallback: 200,
  },
  scheduleFireDays: {
    variable: 'COMMONPLACE_SCHEDULE_FIRE_DAYS',
    help: 'days for which it is kept what became of a slot of a schedule',
    parse: integer(1, 3650),
    fallback: 30,
  },
  workItemsPerWorkspace: {
    variable: 'COMMONPLACE_WORK_ITEMS',
    help: 'work items of one workspace at the most',
    parse: integer(1, 10_000_000),
    fallback: 100_000,
  },
  workItemChildren: {
    variable: 'COMMONPLACE_WORK_ITEM_CHILDREN',
    help: 'work items directly below one work item at the most',
    parse: integer(1, 1_000),
    fallback: 200,
  },
  workItemDepth: {
    variable: 'COMMONPLACE_WORK_ITEM_DEPTH',
    help: 'levels of work items below each other at the most',
    parse: integer(1, 32),
    fallback: 8,
  },
} satisfies Table;

export type Settings = Values<typeof config>;
