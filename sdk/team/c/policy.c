// The policy of a team. Each decision is in a file of its own, with its setting.
void exhaustion_settings(void);
void compaction_settings(void);
void splitting_settings(void);
void prompting_settings(void);

void all_settings(void) {
    exhaustion_settings();
    compaction_settings();
    splitting_settings();
    prompting_settings();
}
