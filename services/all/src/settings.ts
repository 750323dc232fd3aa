import { config as agents } from '@commonplace/agents/config';
import { config as automations } from '@commonplace/automations/config';
import { config as files } from '@commonplace/files/config';
import { config as gateway } from '@commonplace/gateway/config';
import { config as identity } from '@commonplace/identity/config';
import type { Table } from '@commonplace/kit/config';
import { config as messaging } from '@commonplace/messaging/config';
import { config as resources } from '@commonplace/resources/config';
import { config as search } from '@commonplace/search/config';
import { config as tenancy } from '@commonplace/tenancy/config';
import { welcomeConfig } from './welcome-config.js';

/** The settings tables of all services, importable without the services' code. */
export const settingsTables: Readonly<Record<string, Table>> = {
  identity,
  tenancy,
  resources,
  files,
  search,
  messaging,
  agents,
  automations,
  gateway,
  bootstrap: welcomeConfig,
};
