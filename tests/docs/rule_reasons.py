"""Why a rule excludes other explanations, and its confidence: a table of docs/behaviour/analysis.md."""

from __future__ import annotations

REASONS: dict[str, tuple[str, str]] = {
    "R01": (
        "One member was much later than all others. R03, R04 and R05 state the wait for a dead member if they "
        "mention that member, otherwise R01 does. If the whole group had stopped before, no member is named.",
        "The wait is certain with its start and commits, else likely; the member is likely if commits show it.",
    ),
    "R02": (
        "A reason that the client sent; or its partitions had no commits for its rebalance timeout"
        " while others committed, and it came back.",
        "Likely without a reason.",
    ),
    "R03": (
        "An expiry in a log line; sessions lost with a coordinator, in a deployment, or with other groups are "
        "left out, as are processes that R54 reports. A client that joined before its old session expired was restarted, not paused.",
        "Certain from a line, else likely; the behaviour of the process is likely or possible.",
    ),
    "R04": (
        "Pod names with another hash, or a reason from each client; clients that join and leave repeatedly are not a "
        "deployment, nor is a group that was empty in between.",
        "Likely if only the member changes show it.",
    ),
    "R05": (
        "The coordinator ended at least half of a client's sessions; removals at the end of a join phase without times "
        "don't count.",
        "As certain as the least certain of its removals.",
    ),
    "R06": (
        "All joins and leaves were orderly, with names that did not return.",
        "Likely.",
    ),
    "R07": (
        "Members and subscriptions were unchanged, partitions were not.",
        "Certain if records or log lines show it.",
    ),
    "R08": (
        "Members were unchanged, subscriptions were not.",
        "Certain.",
    ),
    "R09": (
        "Subscriptions without a common topic, in several generations.",
        "Certain.",
    ),
    "R10": (
        "Few partitions had to move, but all were revoked.",
        "Likely.",
    ),
    "R11": (
        "Same members; a partition received its owner in the second round.",
        "As certain as the causes of the rounds.",
    ),
    "R12": (
        "Only a static member's partitions had no commits; or its record shows that it left temporarily.",
        "Certain in consumer groups, else likely.",
    ),
    "R13": (
        "Member ids changed under one instance id, or a request was fenced. Rejected joins count only if they last "
        "longer than a killed process keeps its id.",
        "Certain with a log line of a fenced request, else likely.",
    ),
    "R14": (
        "The time from the join phase to the assignment; or no assignment before the silent member was removed, and "
        "others waited for it.",
        "Certain if one member was removed; why it hung is only possible.",
    ),
    "R15": (
        "The same client was last in half of the rebalances.",
        "Certain if measured, else likely.",
    ),
    "R16": (
        "The leader epoch of the offsets partition; groups that began after the change are left out. So are "
        "rebalances with another cause, and silences during such a rebalance.",
        "The move is certain, its consequences are likely.",
    ),
    "R17": (
        "All members joined together, and the group was new.",
        "Certain if every join is known.",
    ),
    "R18": (
        "Members and partitions of a generation.",
        "Certain.",
    ),
    "R19": (
        "The hot partition's log grows three times as fast as the others'; a slow member is R45.",
        "Certain; that it is a key is likely.",
    ),
    "R20": (
        "The owner's other partitions, or other members, continued. Four causes look alike, and none is named.",
        "Certain with log ends, else possible; the cause always possible.",
    ),
    "R21": (
        "Committed offsets that went back; or members that commit in batches and committed nothing in several"
        " rebalances. Effects of a recreated topic are left out.",
        "Certain for offsets that went back, else likely.",
    ),
    "R22": (
        "The coordinator's own rejections.",
        "Certain.",
    ),
    "R23": (
        "Records of the partitions that a member had to revoke, and of the members that waited for them. If the "
        "whole group had stopped long before, no member is named. Without records, an event about a member that the "
        "coordinator removed for that.",
        "Certain; why a removed member was late is likely.",
    ),
    "R24": (
        "Records of the conversion.",
        "Certain.",
    ),
    "R25": (
        "Generations and their members, without a gap between them. The start and the end of a group are left out.",
        "Certain.",
    ),
    "R26": (
        "Times of rebalances; a rule that explains half of them is named. The first half minute of a group is left "
        "out, and a storm of one member's leaves and joins is called that.",
        "Certain with their starts, else likely.",
    ),
    "R27": (
        "Tombstones; a deleted topic, group or offset differs from an expiry by the members at that time.",
        "Likely.",
    ),
    "R28": (
        "Settings in members' records.",
        "Certain.",
    ),
    "R29": (
        "How the last members left, if known. After an orderly stop, groups of command-line tools, and groups "
        "that had been empty for a similar time before, are information.",
        "Possible if a stop and a crash look alike.",
    ),
    "R30": (
        "Two owners ended while the committed offset stayed. Owners that left at their poll timeout are R46. The "
        "record is at that offset only if members commit each record.",
        "Likely; possible if several partitions stopped, or no log line shows how they ended.",
    ),
    "R31": (
        "Subscriptions with a common topic, for a minute.",
        "Certain.",
    ),
    "R32": (
        "Other members committed often in that time.",
        "Likely with log ends, else possible.",
    ),
    "R33": (
        "Offsets jump back, and soon forward again, at least four times.",
        "Certain without members, else likely.",
    ),
    "R34": (
        "The rejection itself.",
        "Certain.",
    ),
    "R35": (
        "Four fifths of the groups that commit regularly paused at once.",
        "Likely.",
    ),
    "R36": (
        "Five members of three groups within seconds. Static members of a group without later members may have "
        "been stopped, and don't count.",
        "Likely; the common cause has to be found by a person.",
    ),
    "R37": (
        "Members existed, without a rebalance or with one that began well after the stop or is open, and records waited long "
        "by samples. An open transaction: the last stable offset did not move while the log grew. No transaction: "
        "it moved.",
        "Certain with log ends, else information; causes at most likely.",
    ),
    "R38": (
        "The log began after the committed offset at a sample; deletions of records that were read are left out.",
        "Certain.",
    ),
    "R39": (
        "The topic had owners, the partition had none, and its log grew.",
        "Certain; that records were skipped is likely, if no consumer could have read them so fast.",
    ),
    "R40": (
        "Members left one by one, none joined before the group was empty, then it used another assignor.",
        "Certain for the decrease, likely for its reason; from a text log alone likely and possible.",
    ),
    "R41": (
        "The coordinator's own log line.",
        "Certain.",
    ),
    "R42": (
        "Removals at a join phase that was shorter than a heartbeat, or short for several clients.",
        "Certain with the rebalance timeout, else likely.",
    ),
    "R43": (
        "No member, topic or subscription changed, and no join or leave shortly before. Returns: the client was "
        "back sooner than a process starts, unsubscribed, or changed its subscription each time.",
        "As certain as the causes.",
    ),
    "R44": (
        "A log end that went back by half; or all offsets of a topic removed while the group had members.",
        "Certain with log ends, else likely.",
    ),
    "R45": (
        "All its partitions are late, those of other members are not, and its logs grow no faster than theirs.",
        "Certain; why it is slow is only possible.",
    ),
    "R46": (
        "Several owners left at their poll timeout while one committed offset stayed. The record is at that offset "
        "only if members commit each record.",
        "Likely.",
    ),
    "R47": (
        "Several members failed with them, or others were accepted meanwhile; locks that one member outlived are R49.",
        "Certain; that the records are to blame is likely with events, else mostly possible.",
    ),
    "R48": (
        "Almost no record was accepted for seconds, while many records were archived at the delivery limit.",
        "Certain; the cause likely where several members failed, else possible.",
    ),
    "R49": (
        "The member continued after its locks had expired; members that were dead by then are left out.",
        "Certain.",
    ),
    "R50": (
        "Deliveries that ended with the record back in the group.",
        "Certain; from the share coordinator's log alone the cause is possible.",
    ),
    "R51": (
        "Samples of the lag while the group had members.",
        "Certain.",
    ),
    "R52": (
        "How the last members left, if known.",
        "Certain if a session expired, else likely or possible.",
    ),
    "R53": (
        "The task has state, its process had no copy of it, records waited by samples, other tasks continued, and its "
        "changelog is large enough, if known.",
        "Certain with log ends that it stopped, else possible and information; that it was being restored is likely or "
        "possible.",
    ),
    "R54": (
        "A process, by its id or its name and host, left with tasks after a short life and returned, three times.",
        "Certain; how it left is known from events only, and why is possible only without them.",
    ),
    "R55": (
        "Topology epochs while no member joined or left; or a group that was deleted and then had another topology.",
        "Certain.",
    ),
    "R56": (
        "Members existed all the time while the group's epochs had no topology that is ready.",
        "Certain.",
    ),
    "R57": (
        "The share coordinator wrote the state of records with a dead letter; only an event log contains whether it was written.",
        "Certain.",
    ),
}  # by rule: why other explanations are excluded, and the confidence
