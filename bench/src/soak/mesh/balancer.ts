import { Agent } from 'node:http';
import { type Client, sendTo } from '../../http.js';

/** Distributes requests over the ready gateways like an ingress. It does not retry. */
export interface Balancer {
  set(baseUrls: readonly string[]): void;
  client(apiKey: string): Client;
  close(): void;
}

export function createBalancer(): Balancer {
  const agents = new Map<string, Agent>();
  let ready: readonly string[] = [];
  let turn = 0;
  const agentOf = (baseUrl: string): Agent => {
    const known = agents.get(baseUrl);
    if (known !== undefined) return known;
    const agent = new Agent({ keepAlive: true });
    agents.set(baseUrl, agent);
    return agent;
  };
  return {
    set(baseUrls) {
      ready = baseUrls;
    },
    client: (apiKey) =>
      sendTo(() => {
        turn++;
        const baseUrl = ready[turn % ready.length];
        if (baseUrl === undefined) throw new Error('No gateway is ready.');
        return { baseUrl, agent: agentOf(baseUrl) };
      }, apiKey),
    close() {
      for (const agent of agents.values()) agent.destroy();
    },
  };
}
