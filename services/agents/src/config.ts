import { defineSettings, integer, type Values, wholeNumber } from '@commonplace/kit/config';
import { SECRETS_KEY } from '@commonplace/kit/secrets';
import { OUTGOING_SETTINGS } from '@commonplace/platform/settings';
import { chatModelSettings } from './models/settings.js';

export const config = defineSettings({
  ...chatModelSettings,
  runWorkers: wholeNumber(16, [0, 1000], 'runs that this process works on at the same time'),
  runsRunning: wholeNumber(50, [1, 10_000], 'runs of one tenant that run at the same time'),
  runsPerAgent: wholeNumber(
    5,
    [1, 1000],
    'runs of one agent, or of one person with the built-in assistant, that run at the same time',
  ),
  runsWaiting: wholeNumber(500, [1, 100_000], 'maximum runs of one tenant that wait for their turn'),
  runSteps: wholeNumber(50, [1, 1000], 'maximum steps of one run'),
  runMinutes: wholeNumber(
    30,
    [1, 1440],
    'minutes after which a run that has started ends, not counting the time that it waits for approvals',
  ),
  runOutputKb: wholeNumber(1024, [1, 4096], 'maximum KiB of the text that one run writes; a longer reply ends there'),
  runMetadataBytes: wholeNumber(
    16_384,
    [1024, 8_388_608],
    'maximum bytes of the metadata with which a client starts a run',
  ),
  runParametersBytes: wholeNumber(262_144, [1024, 8_388_608], 'maximum bytes of the parameters in the input of a run'),
  memoryMetadataBytes: wholeNumber(16_384, [1024, 8_388_608], 'maximum bytes of the metadata of a memory'),
  runDays: wholeNumber(90, [1, 3650], 'days that a run is kept after it has ended'),
  stepDays: wholeNumber(30, [1, 3650], 'days that inputs and outputs of steps are kept after their run has ended'),
  agentsPerUser: wholeNumber(100, [1, 100_000], 'agents that one person may own'),
  agentWorkspaces: wholeNumber(100, [1, 100], 'workspaces in which one agent may act'),
  agentPins: wholeNumber(50, [1, 50], 'resources that may be pinned to one agent'),
  agentSkills: wholeNumber(50, [1, 50], 'skills that one agent may have'),
  skillFiles: wholeNumber(20, [0, 20], 'files that one skill may have'),
  skillBytes: wholeNumber(65_536, [1024, 65_536], 'bytes of the content of one skill, without its files'),
  skillFileBytes: wholeNumber(1_048_576, [1024, 1_048_576], 'bytes of one file of a skill'),
  skillFilesBytes: {
    help: 'bytes of the files of a skill together, without those that are resources',
    // A record of the database has at most 16 MiB, with what escapes add.
    parse: integer(1024, 8_388_608),
    fallback: 8_388_608,
  },
  chatMessages: wholeNumber(10_000, [10, 1_000_000], 'messages that one chat session may have'),
  webFetchBytes: {
    help: 'bytes of a web page that an agent reads; larger ones are not read',
    // A decoded page may be three times as large, and has to fit into a message between services.
    parse: integer(1024, 3 * 1024 * 1024),
    fallback: 2 * 1024 * 1024,
  },
  webFetchSeconds: wholeNumber(20, [1, 300], 'seconds that fetching a web page for an agent may take'),
  webFetchLength: wholeNumber(24_000, [1000, 1_000_000], 'maximum characters of a web page that an agent receives'),
  ...OUTGOING_SETTINGS,
  secretsKey: SECRETS_KEY,
  memories: wholeNumber(10_000, [1, 1_000_000], 'memories that a person, a workspace, an Org or an agent may have'),
  memoryTokens: wholeNumber(2_000, [0, 100_000], 'maximum tokens of memories in the prompt of a run'),
  mcpServers: wholeNumber(20, [0, 100], 'MCP servers that one agent may have'),
  mcpTools: wholeNumber(200, [1, 1000], 'tools of one MCP server that are used; further ones are left out'),
  mcpResultKb: wholeNumber(
    256,
    [1, 1024],
    'maximum KiB of an MCP tool result that a model receives; the rest is cut off',
  ),
  mcpFailures: wholeNumber(10, [1, 1000], 'consecutive failed calls after which an MCP server is switched off'),
});

export type Settings = Values<typeof config>;

export const DAY_MS = 24 * 3600 * 1000;
/** Number of latest messages of a session that a model receives. */
export const PROMPT_MESSAGES = 200;
