import { defineSettings, integer, type Values } from '@commonplace/kit/config';
import { SECRETS_KEY } from '@commonplace/kit/secrets';
import { OUTGOING_SETTINGS } from '@commonplace/platform/settings';
import { chatModelSettings } from './models/settings.js';

export const config = defineSettings({
  ...chatModelSettings,
  runWorkers: { help: 'runs that this process works on at the same time', parse: integer(0, 1000), fallback: 16 },
  runsRunning: { help: 'runs of one tenant that run at the same time', parse: integer(1, 10_000), fallback: 50 },
  runsPerAgent: {
    help: 'runs of one agent, or of one person with the built-in assistant, that run at the same time',
    parse: integer(1, 1000),
    fallback: 5,
  },
  runsWaiting: {
    help: 'maximum runs of one tenant that wait for their turn',
    parse: integer(1, 100_000),
    fallback: 500,
  },
  runSteps: { help: 'maximum steps of one run', parse: integer(1, 1000), fallback: 50 },
  runMinutes: {
    help: 'minutes after which a run that has started ends, not counting the time that it waits for approvals',
    parse: integer(1, 1440),
    fallback: 30,
  },
  runOutputKb: {
    help: 'maximum KiB of the text that one run writes; a longer reply ends there',
    parse: integer(1, 4096),
    fallback: 1024,
  },
  runMetadataBytes: {
    help: 'maximum bytes of the metadata with which a client starts a run',
    parse: integer(1024, 8_388_608),
    fallback: 16_384,
  },
  runParametersBytes: {
    help: 'maximum bytes of the parameters in the input of a run',
    parse: integer(1024, 8_388_608),
    fallback: 262_144,
  },
  memoryMetadataBytes: {
    help: 'maximum bytes of the metadata of a memory',
    parse: integer(1024, 8_388_608),
    fallback: 16_384,
  },
  runDays: { help: 'days that a run is kept after it has ended', parse: integer(1, 3650), fallback: 90 },
  stepDays: {
    help: 'days that inputs and outputs of steps are kept after their run has ended',
    parse: integer(1, 3650),
    fallback: 30,
  },
  agentsPerUser: { help: 'agents that one person may own', parse: integer(1, 100_000), fallback: 100 },
  agentWorkspaces: { help: 'workspaces in which one agent may act', parse: integer(1, 100), fallback: 100 },
  agentPins: { help: 'resources that may be pinned to one agent', parse: integer(1, 50), fallback: 50 },
  agentSkills: { help: 'skills that one agent may have', parse: integer(1, 50), fallback: 50 },
  skillFiles: { help: 'files that one skill may have', parse: integer(0, 20), fallback: 20 },
  skillBytes: {
    help: 'bytes of the content of one skill, without its files',
    parse: integer(1024, 65_536),
    fallback: 65_536,
  },
  skillFileBytes: { help: 'bytes of one file of a skill', parse: integer(1024, 1_048_576), fallback: 1_048_576 },
  skillFilesBytes: {
    help: 'bytes of the files of a skill together, without those that are resources',
    // A record of the database has at most 16 MiB, with what escapes add.
    parse: integer(1024, 8_388_608),
    fallback: 8_388_608,
  },
  chatMessages: { help: 'messages that one chat session may have', parse: integer(10, 1_000_000), fallback: 10_000 },
  webFetchBytes: {
    help: 'bytes of a web page that an agent reads; larger ones are not read',
    // A decoded page may be three times as large, and has to fit into a message between services.
    parse: integer(1024, 3 * 1024 * 1024),
    fallback: 2 * 1024 * 1024,
  },
  webFetchSeconds: {
    help: 'seconds that fetching a web page for an agent may take',
    parse: integer(1, 300),
    fallback: 20,
  },
  webFetchLength: {
    help: 'maximum characters of a web page that an agent receives',
    parse: integer(1000, 1_000_000),
    fallback: 24_000,
  },
  ...OUTGOING_SETTINGS,
  secretsKey: SECRETS_KEY,
  memories: {
    help: 'memories that a person, a workspace, an Org or an agent may have',
    parse: integer(1, 1_000_000),
    fallback: 10_000,
  },
  memoryTokens: {
    help: 'maximum tokens of memories in the prompt of a run',
    parse: integer(0, 100_000),
    fallback: 2_000,
  },
  mcpServers: { help: 'MCP servers that one agent may have', parse: integer(0, 100), fallback: 20 },
  mcpTools: {
    help: 'tools of one MCP server that are used; further ones are left out',
    parse: integer(1, 1000),
    fallback: 200,
  },
  mcpResultKb: {
    help: 'maximum KiB of an MCP tool result that a model receives; the rest is cut off',
    parse: integer(1, 1024),
    fallback: 256,
  },
  mcpFailures: {
    help: 'consecutive failed calls after which an MCP server is switched off',
    parse: integer(1, 1000),
    fallback: 10,
  },
});

export type Settings = Values<typeof config>;

export const DAY_MS = 24 * 3600 * 1000;
/** Number of latest messages of a session that a model receives. */
export const PROMPT_MESSAGES = 200;
