import { defineSettings, integer, type Values } from '@commonplace/kit/config';
import { SECRETS_KEY } from '@commonplace/kit/secrets';
import { OUTGOING_SETTINGS } from '@commonplace/platform/settings';

export const config = defineSettings({
  ...OUTGOING_SETTINGS,
  secretsKey: SECRETS_KEY,
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
    help: 'maximum automations of one workspace',
    parse: integer(1, 100_000),
    fallback: 200,
  },
  hookBytes: {
    variable: 'COMMONPLACE_AUTOMATION_HOOK_BYTES',
    help: 'maximum bytes of the body of a webhook that starts an automation',
    parse: integer(1024, 8_388_608),
    fallback: 1_048_576,
  },
  inputBytes: {
    variable: 'COMMONPLACE_AUTOMATION_INPUT_BYTES',
    help: 'maximum bytes of the input with which a person or a schedule starts an automation or an agent',
    parse: integer(1024, 8_388_608),
    fallback: 262_144,
  },
  queuedRuns: {
    variable: 'COMMONPLACE_AUTOMATION_QUEUE',
    help: 'maximum waiting runs of one automation; further ones are skipped',
    parse: integer(1, 1_000_000),
    fallback: 1_000,
  },
  disableAfter: {
    variable: 'COMMONPLACE_AUTOMATION_FAILURES',
    help: 'consecutive failed runs after which an automation is switched off',
    parse: integer(1, 10_000),
    fallback: 20,
  },
  schedulesPerWorkspace: {
    variable: 'COMMONPLACE_SCHEDULES',
    help: 'maximum schedules of one workspace',
    parse: integer(1, 100_000),
    fallback: 200,
  },
  scheduleFireDays: { help: 'days that the outcome of a schedule slot is kept', parse: integer(1, 3650), fallback: 30 },
  workItemsPerWorkspace: {
    variable: 'COMMONPLACE_WORK_ITEMS',
    help: 'maximum work items of one workspace',
    parse: integer(1, 10_000_000),
    fallback: 100_000,
  },
  workItemChildren: {
    help: 'maximum work items directly below one work item',
    parse: integer(1, 1_000),
    fallback: 200,
  },
  workItemDepth: { help: 'maximum nesting depth of work items', parse: integer(1, 32), fallback: 8 },
});

export type Settings = Values<typeof config>;
